import { answered } from '../../../lib/demo/api-route.ts';
import { listProducts } from '../../../lib/demo/products.ts';

export const dynamic = 'force-dynamic';

export function GET(request: Request): Promise<Response> {
  return answered(request, async () => {
    const products = await listProducts();
    return Response.json(
      products.map(({ sku, name, priceCents, stock }) => ({ sku, name, price_cents: priceCents, stock })),
      { headers: { 'Cache-Control': 'no-store' } }, // what is in stock now, not a minute ago
    );
  });
}
