/** `npm run db:seed`: puts the demo shop's goods into the database at DATABASE_URL. */
import { onDatabase } from './services/on-database.ts';
import { products, seed } from './services/seed.ts';

await onDatabase(async (url) => {
  await seed(url);
  console.log(`Seeded ${products.map((product) => product.sku).join(', ')}`);
});
