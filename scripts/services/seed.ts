/** The demo shop's goods. Safe to run at every start: it never gives sold stock back. */
import { createClient } from '../../shop/db.ts';

export const products = [
  {
    sku: 'mug',
    name: 'Enamel mug',
    description: 'White enamel with a blue rim. Survives campfires, dishwashers and being dropped twice.',
    priceCents: 1800,
    stock: 5000,
  },
  {
    sku: 'lamp',
    name: 'Desk lamp',
    description: 'A brass arm and a warm light. Made by hand, so there are only three.',
    priceCents: 6400,
    stock: 3,
  },
  {
    sku: 'notebook',
    name: 'Notebook',
    description: 'Ninety-six dotted pages that lie flat, bound in grey linen.',
    priceCents: 900,
    stock: 500,
  },
  {
    sku: 'tote',
    name: 'Tote bag',
    description: 'Heavy cotton canvas with handles long enough for a shoulder.',
    priceCents: 1500,
    stock: 200,
  },
];

/** Creates what is missing and refreshes names, descriptions and prices; the stock of an existing product stays. */
export async function seed(url: string): Promise<void> {
  const client = createClient(url, { max: 1 });
  try {
    for (const { sku, stock, ...shown } of products) {
      await client.product.upsert({ where: { sku }, create: { sku, stock, ...shown }, update: shown });
    }
  } finally {
    await client.$disconnect();
  }
}
