import pg from 'pg';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { type TestDatabase, testDatabase } from '../lib/demo/test-database.ts';
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
    await expect(failure).rejects.toThrow('No database answers at postgresql://shop@127.0.0.1:1/shop');
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

/** Inserts a key row, rolls it back, and returns the name of the constraint that refused it. */
async function refusal(row: Record<string, unknown>): Promise<string | undefined> {
  const full = { claimed_at: '2026-01-01', expires_at: '2026-01-02', ...row };
  const values = Object.keys(full).map((_, index) => `$${index + 1}`);
  await sql.query('BEGIN');
  try {
    const text = `INSERT INTO idempotency_keys (${Object.keys(full)}) VALUES (${values})`;
    await sql.query(text, Object.values(full));
    return undefined;
  } catch (error) {
    const { constraint, code } = error as pg.DatabaseError;
    return constraint?.replace('idempotency_keys_', '') ?? code;
  } finally {
    await sql.query('ROLLBACK');
  }
}

describe('idempotency_keys', () => {
  it.each([
    ['a claim', claimed],
    ['a stored result', settled],
    ['a result that was forgotten', { ...settled, result: null }],
    ['a tombstone', { ...claimed, state: 'abandoned', settled_at: '2026-01-01' }],
    ['the longest key', { ...claimed, key: 'k'.repeat(255) }],
  ])('takes %s', async (_, row) => {
    expect(await refusal(row)).toBeUndefined();
  });

  it.each([
    ['a state nobody knows', { ...settled, state: 'done' }, 'state_check'],
    ['a key of 256 characters', { ...claimed, key: 'k'.repeat(256) }, '22001'],
    ['success without its time', { ...settled, settled_at: null }, 'settled_check'],
    ['a claim that has settled already', { ...claimed, settled_at: '2026-01-01' }, 'settled_check'],
    ['a tombstone without its time', { ...claimed, state: 'abandoned' }, 'settled_check'],
    ['a tombstone with a result', { ...settled, state: 'abandoned' }, 'tombstone_check'],
    ['a settled key with a lease', { ...settled, lease_until: '2026-01-01' }, 'unfinished_check'],
    ['a settled key that is due', { ...settled, next_attempt_at: '2026-01-01' }, 'unfinished_check'],
    ['a settled key with its input', { ...settled, input: Buffer.alloc(1) }, 'unfinished_check'],
  ] as const)('refuses %s', async (_, row, constraint) => {
    expect(await refusal(row)).toBe(constraint);
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
