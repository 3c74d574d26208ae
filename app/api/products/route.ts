import { listProducts } from '../../../lib/demo/products.ts';

export const dynamic = 'force-dynamic';

export async function GET(): Promise<Response> {
  const products = await listProducts();
  return Response.json(
    products.map(({ sku, name, priceCents, stock }) => ({ sku, name, price_cents: priceCents, stock })),
  );
}
