import { type Client, db } from '../db.ts';

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
 * Takes goods out of stock and says what one of them costs; undefined where there are not so many, and nothing is taken.
 * One conditional UPDATE, because of this interleaving: two orders read "1 left", and both sell it.
 */
export async function takeStock(
  tx: Pick<Client, 'product'>,
  sku: string,
  quantity: number,
): Promise<{ priceCents: number } | undefined> {
  const [taken] = await tx.product.updateManyAndReturn({
    where: { sku, stock: { gte: quantity } },
    data: { stock: { decrement: quantity } },
    select: { priceCents: true },
  });
  return taken;
}

/** Puts goods back that will not be delivered after all. */
export async function returnStock(tx: Pick<Client, 'product'>, sku: string, quantity: number): Promise<void> {
  await tx.product.updateMany({ where: { sku }, data: { stock: { increment: quantity } } });
}
