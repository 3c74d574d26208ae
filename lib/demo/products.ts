import { type Client, db } from './db.ts';

export interface Product {
  sku: string;
  name: string;
  description: string;
  priceCents: number;
  stock: number;
}

export function listProducts(): Promise<Product[]> {
  return db().product.findMany({ orderBy: { name: 'asc' } });
}

/**
 * Takes goods out of stock, or takes nothing and says so. One conditional UPDATE, because of this interleaving: two
 * orders read "1 left", and both sell it.
 */
export async function takeStock(tx: Pick<Client, 'product'>, sku: string, quantity: number): Promise<boolean> {
  const taken = await tx.product.updateMany({
    where: { sku, stock: { gte: quantity } },
    data: { stock: { decrement: quantity } },
  });
  return taken.count === 1;
}

/** Puts goods back that will not be delivered after all. */
export async function returnStock(tx: Pick<Client, 'product'>, sku: string, quantity: number): Promise<void> {
  await tx.product.updateMany({ where: { sku }, data: { stock: { increment: quantity } } });
}
