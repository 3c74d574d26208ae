import pg from 'pg';

// Time-ordered keys of one rate, as an app has made them: claimed over 28 hours, kept for 25. A pause of an hour between
// those that are expired and the others, so that no more expire while a benchmark runs.
const ROWS = `
INSERT INTO idempotency_keys (tenant, principal, operation, key, state, fingerprint, fingerprint_version, secret_id,
                              result, schema_version, minted_at, claimed_at, settled_at, expires_at)
SELECT 'acme', 'user-' || n % 5000, 'checkout',
       substr(hex, 1, 8) || '-' || substr(hex, 9, 4) || '-7' || substr(noise, 1, 3) || '-a' || substr(noise, 4, 3) || '-' ||
       substr(noise, 7, 12) || '.' || substr(noise, 10, 22),
       'succeeded', decode(noise || noise, 'hex'), 1, 'a1b2c3d4', '{"kind":"ok","data":[{"id":1},"' || noise || '"]}', 1,
       claimed - interval '20 s', claimed, claimed + interval '20 ms', claimed + interval '25 h'
  FROM (SELECT n, claimed, md5(n::text) AS noise,
               lpad(to_hex((extract(epoch FROM claimed) * 1000)::bigint), 12, '0') AS hex
          FROM (SELECT n, now() - interval '25 h' + (n - $2::int) * interval '9 ms'
                            + CASE WHEN n > $2::int THEN interval '1 h' ELSE interval '0' END AS claimed
                  FROM generate_series(1 + $3::int, $1::int, 2) n) numbered) made`;

/**
 * Fills a database's key table with settled keys, the oldest `expired` of them past their retention. Its indexes are
 * taken off meanwhile and put back as the migrations have made them.
 */
export async function fill(url: string, rows: number, expired: number): Promise<void> {
  const pool = new pg.Pool({ connectionString: url, max: 2 });
  const all = (statements: string[]) => Promise.all(statements.map((text) => pool.query(`${SET}; ${text}`)));
  try {
    const { rows: constraints } = await pool.query<{ table: string; name: string; definition: string; type: string }>(
      `SELECT conrelid::regclass::text AS table, quote_ident(conname) AS name, pg_get_constraintdef(oid) AS definition, contype AS type
         FROM pg_constraint
        WHERE (conrelid = 'idempotency_keys'::regclass AND contype = 'p') OR confrelid = 'idempotency_keys'::regclass
        ORDER BY contype`,
    );
    const { rows: indexes } = await pool.query<{ name: string; definition: string }>(
      `SELECT quote_ident(relname) AS name, pg_get_indexdef(oid) AS definition FROM pg_class JOIN pg_index ON oid = indexrelid
        WHERE indrelid = 'idempotency_keys'::regclass AND NOT indisprimary`,
    );
    for (const { table, name } of constraints) await pool.query(`ALTER TABLE ${table} DROP CONSTRAINT ${name}`);
    for (const { name } of indexes) await pool.query(`DROP INDEX ${name}`);
    await Promise.all([0, 1].map((half) => pool.query(ROWS, [rows, expired, half])));
    const add = (type: string) =>
      constraints
        .filter((constraint) => constraint.type === type)
        .map(({ table, name, definition }) => `ALTER TABLE ${table} ADD CONSTRAINT ${name} ${definition}`);
    await all(add('p'));
    await all(indexes.map(({ definition }) => definition));
    await all(add('f'));
    await pool.query('VACUUM ANALYZE idempotency_keys');
  } finally {
    await pool.end();
  }
}

const SET = `SET maintenance_work_mem = '512MB'`;
