/** The process of `killed-checkout.db.test.ts`: its connections are lost in the moment in which they are checked out. */
import pg from 'pg';
import { oncekitPool } from './pool.ts';

const [connectionString, checkouts] = process.argv.slice(2);
const pool = oncekitPool(new pg.Pool({ connectionString, max: 1 }));
for (let n = 0; n < Number(checkouts); n++) {
  const client = await pool.connect();
  const told = await client.query('SELECT 1').then(
    () => 'answered',
    () => 'lost',
  );
  client.release();
  process.stdout.write(`${told}\n`);
}
await pool.end();
