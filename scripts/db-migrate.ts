/** `npm run db:migrate`: brings the database at DATABASE_URL up to date. */
import { migrate } from './services/migrate.ts';
import { onDatabase } from './services/on-database.ts';

await onDatabase(async (url) => {
  const applied = await migrate(url);
  console.log(applied.length ? `Applied ${applied.join(', ')}` : 'Nothing to apply: the database is up to date');
});
