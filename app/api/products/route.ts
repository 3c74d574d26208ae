import { connection } from 'next/server';
import { answered } from '../../../shop/api/route.ts';
import { listProducts } from '../../../shop/orders/products.ts';

export function GET(request: Request): Promise<Response> {
  return answered(request, async () => {
    await connection(); // what is in stock now, not when the app was built
    const products = await listProducts();
    return Response.json(
      products.map(({ sku, name, priceCents, stock }) => ({ sku, name, price_cents: priceCents, stock })),
      { headers: { 'Cache-Control': 'no-store' } },
    );
  });
}
