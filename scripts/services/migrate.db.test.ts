import pg from 'pg';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { type TestDatabase, testDatabase } from '../testing/test-database.ts';
import { migrate, schemaDifference } from './migrate.ts';
import { seed } from './seed.ts';

let db: TestDatabase;
let sql: pg.Client;

beforeAll(async () => {
  db = await testDatabase();
  sql = new pg.Client({ connectionString: db.url });
  await sql.connect();
});

afterAll(async () => {
  await sql?.end();
  await db?.drop();
});

describe('migrations', () => {
  it('apply nothing the second time', async () => {
    expect(await migrate(db.url)).toEqual([]);
  });

  it('lead to what the Prisma models say', async () => {
    expect(await schemaDifference(db.url)).toBe('');
  });

  it('notice a table that is not as the models say', async () => {
    const other = await testDatabase();
    await other.client.$executeRawUnsafe('ALTER TABLE products DROP COLUMN description');
    expect(await schemaDifference(other.url)).toContain('ADD COLUMN     "description"');
    await other.drop();
  });

  it('are applied once by processes that start together', async () => {
    const empty = `${new URL(db.url).pathname.slice(1)}_empty`;
    await sql.query(`CREATE DATABASE ${empty}`);
    const url = Object.assign(new URL(db.url), { pathname: empty }).href;
    const applied = await Promise.all([migrate(url), migrate(url), migrate(url)]);
    expect(applied.filter((names) => names.length > 0)).toHaveLength(1);
    await sql.query(`DROP DATABASE ${empty} WITH (FORCE)`);
  });

  it('say which database does not answer, without its password', async () => {
    const failure = migrate('postgresql://shop:s3cret@127.0.0.1:1/shop');
    await expect(failure).rejects.toThrow('No database answers at 127.0.0.1:1');
  });
});

describe('seed', () => {
  it('does not give sold stock back', async () => {
    await db.client.product.update({ where: { sku: 'lamp' }, data: { stock: 1, name: 'Old name' } });
    await seed(db.url);
    expect(await db.client.product.findUnique({ where: { sku: 'lamp' } })).toMatchObject({
      stock: 1,
      name: 'Desk lamp',
    });
  });
});

const claimed = { tenant: 'acme', principal: 'ann', operation: 'checkout', key: 'k', state: 'in_progress' };
const settled = { ...claimed, state: 'succeeded', result: '{}', settled_at: '2026-01-01' };

const captured = { ...idOf(claimed), name: 'id', position: 1, kind: 'capture', state: 'done', fencing_token: 1 };
const started = { ...captured, name: 'charged', kind: 'foreign', state: 'started', sends: 1 };

function idOf({ tenant, principal, operation, key }: typeof claimed) {
  return { tenant, principal, operation, key };
}

/** The schema that an update starts from. */
const rightful = {
  idempotency_keys: { claimed_at: '2026-01-01', expires_at: '2026-01-02', ...claimed },
  idempotency_phases: captured,
};

/**
 * Inserts a row, or changes a rightful one into it, rolls it back, and returns the name of the constraint that refused
 * it, without the table's.
 */
async function refusal(
  table: keyof typeof rightful,
  how: 'insert' | 'update',
  row: Record<string, unknown>,
): Promise<string | undefined> {
  const insert = async (values: Record<string, unknown>) => {
    const parameters = Object.keys(values).map((_, index) => `$${index + 1}`);
    const text = `INSERT INTO ${table} (${Object.keys(values)}) VALUES (${parameters})`;
    await sql.query(text, Object.values(values));
  };
  await sql.query('BEGIN');
  try {
    if (how === 'insert') {
      await insert({ ...rightful[table], ...row });
    } else {
      await insert(rightful[table]);
      const set = Object.keys(row).map((column, index) => `${column} = $${index + 1}`);
      await sql.query(`UPDATE ${table} SET ${set}`, Object.values(row));
    }
    return undefined;
  } catch (error) {
    const { constraint, code } = error as pg.DatabaseError;
    return constraint?.replace(`${table}_`, '') ?? code;
  } finally {
    await sql.query('ROLLBACK');
  }
}

/** By an insert, and by an update. */
const refusals = async (table: keyof typeof rightful, row: Record<string, unknown>) => [
  await refusal(table, 'insert', row),
  await refusal(table, 'update', row),
];

describe('idempotency_keys', () => {
  it.each([
    ['a claim', claimed],
    ['a stored result', settled],
    ['a result that was forgotten', { ...settled, result: null }],
    ['the longest key', { ...claimed, key: 'k'.repeat(255) }],
    ['a result that was refused', { ...settled, state: 'failed' }],
    ['an unknown key that is due', { ...claimed, state: 'unknown', next_attempt_at: '2026-01-01' }],
    ['a lease and an input', { ...claimed, lease_until: '2026-01-01', input: Buffer.alloc(1) }],
  ])('takes %s', async (_, row) => {
    expect(await refusals('idempotency_keys', row)).toEqual([undefined, undefined]);
  });

  it('takes a tombstone where no key is, and makes none of a key that is in progress', async () => {
    const tombstone = { ...claimed, state: 'abandoned', settled_at: '2026-01-01' };
    expect(await refusals('idempotency_keys', tombstone)).toEqual([undefined, 'transition_check']);
  });

  it.each([
    ['a state nobody knows', { ...settled, state: 'done' }, 'state_check'],
    ['a key of 256 characters', { ...claimed, key: 'k'.repeat(256) }, '22001'],
    ['no state', { ...settled, state: null }, 'state_check'],
    ['success without its time', { ...settled, settled_at: null }, 'settled_check'],
    ['an unknown key that has settled', { ...settled, state: 'unknown' }, 'settled_check'],
    ['a claim that has settled already', { ...claimed, settled_at: '2026-01-01' }, 'settled_check'],
    ['a tombstone without its time', { ...claimed, state: 'abandoned' }, 'settled_check'],
    ['a tombstone with a result', { ...settled, state: 'abandoned' }, 'tombstone_check'],
    ['a settled key with a lease', { ...settled, lease_until: '2026-01-01' }, 'unfinished_check'],
    ['a settled key that is due', { ...settled, next_attempt_at: '2026-01-01' }, 'unfinished_check'],
    ['a settled key with its input', { ...settled, input: Buffer.alloc(1) }, 'unfinished_check'],
  ] as const)('refuses %s', async (_, row, constraint) => {
    expect(await refusals('idempotency_keys', row)).toEqual([constraint, constraint]);
  });

  it('says which rule a row breaks as a CHECK would, by SQLSTATE, table and constraint', async () => {
    const broken = sql.query(`INSERT INTO idempotency_keys (tenant, principal, operation, key, state, expires_at)
                              VALUES ('acme', 'ann', 'checkout', 'k', 'done', now())`);
    await expect(broken).rejects.toMatchObject({
      code: '23514',
      schema: 'public',
      table: 'idempotency_keys',
      constraint: 'idempotency_keys_state_check',
      message: expect.stringContaining('done'),
    });
  });
});

describe('idempotency_phases', () => {
  it.each([
    ['a captured value', captured],
    ['an atomic phase', { ...captured, kind: 'atomic' }],
    ['a foreign call that was begun', started],
    ['a foreign call that is done', { ...started, state: 'done', result: 'r'.repeat(262_144) }],
    ['a call of which every send did nothing', { ...started, not_executed: 1 }],
    ['a call that a person has decided about', { ...started, verdict: 'retry' }],
  ])('takes %s', async (_, row) => {
    expect(await refusals('idempotency_phases', row)).toEqual([undefined, undefined]);
  });

  it.each([
    ['a kind nobody knows', { ...captured, kind: 'guess' }, 'kind_check'],
    ['a state nobody knows', { ...captured, state: 'lost' }, 'state_check'],
    ['an atomic phase that was begun', { ...captured, kind: 'atomic', state: 'started' }, 'state_check'],
    ['a captured value that was begun', { ...captured, state: 'started' }, 'state_check'],
    ['more sends without effect than sends', { ...started, not_executed: 2 }, 'not_executed_check'],
    ['fewer sends without effect than none', { ...started, not_executed: -1 }, 'not_executed_check'],
    ['a result of more than 256 KiB', { ...captured, result: 'r'.repeat(262_145) }, 'result_check'],
    ['a verdict nobody knows', { ...started, verdict: 'maybe' }, 'verdict_check'],
  ] as const)('refuses %s', async (_, row, constraint) => {
    expect(await refusals('idempotency_phases', row)).toEqual([constraint, constraint]);
  });
});

describe('the shop', () => {
  it.each([
    ['stock below zero', `UPDATE products SET stock = -1`],
    ['an empty cart', `INSERT INTO carts (id, shopper, sku, quantity) VALUES (gen_random_uuid(), 's', 'mug', 0)`],
    ['an order of nothing', order({ quantity: 0 })],
    ['a negative amount', order({ amount: -1 })],
    ['a status nobody knows', order({ status: 'lost' })],
    ['a source nobody knows', order({ source: 'fax' })],
  ])('refuses %s', async (_, statement) => {
    await expect(sql.query(statement)).rejects.toMatchObject({ code: '23514' });
  });

  it('takes an order', async () => {
    await sql.query(order({}));
  });
});

function order({ quantity = 1, amount = 1800, status = 'pending', source = 'checkout' }) {
  return `INSERT INTO orders (id, tenant, principal, sku, quantity, amount_cents, status, payment_method, source)
    VALUES (gen_random_uuid(), 'acme', 'ann', 'mug', ${quantity}, ${amount}, '${status}', 'card', '${source}')`;
}
