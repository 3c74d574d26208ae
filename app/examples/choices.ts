import type { Choice } from '../../components/lab/goods-fields.tsx';
import { listProducts } from '../../shop/orders/products.ts';

/** The largest stock comes first: repeated clicks are to meet the forms' limits, not the stock's. */
export async function listChoices(): Promise<Choice[]> {
  const products = await listProducts();
  return products.toSorted((a, b) => b.stock - a.stock).map(({ sku, name, stock }) => ({ sku, name, stock }));
}
