import pg from 'pg';
import { afterAll, beforeAll, expect, onTestFinished, test } from 'vitest';
import { type TestDatabase, testDatabase } from '../../../../scripts/testing/test-database.ts';
import { until } from '../../../../scripts/testing/until.ts';
import { claimOf, DONE, gate, HOW } from '../../contract-harness.fixture.ts';
import type { HeldKey } from '../../leases.ts';
import { prismaStore } from '../store.ts';

/** Steps go with their key, though no foreign key binds them: a key that comes again must not find what was done before. */

const LEASE_MS = 60_000;

let database: TestDatabase;
let store: ReturnType<typeof prismaStore<TestDatabase['client']>>;
let person: pg.Client; // at psql
beforeAll(async () => {
  database = await testDatabase({ max: 4, ownsTables: true });
  store = prismaStore(database.client);
  person = await connected();
});
afterAll(async () => {
  await person?.end();
  await database?.drop();
});

async function connected() {
  const client = new pg.Client({ connectionString: database.url });
  client.on('error', () => {}); // one that is killed
  await client.connect();
  return client;
}

async function begun(): Promise<HeldKey> {
  return await beginOn(claimOf());
}

async function beginOn(claim: ReturnType<typeof claimOf>): Promise<HeldKey> {
  let held: HeldKey | undefined;
  const run = async (opened: { held: HeldKey }) => {
    held = opened.held;
    return {};
  };
  const began = await store.begin({ ...claim, leaseMs: LEASE_MS, firstToken: 1, input: new Uint8Array(1) }, run, HOW);
  if (began.kind !== 'committed' || !held) throw new Error(began.kind);
  return held;
}

/** A key with a captured value and an atomic phase. */
async function withSteps(): Promise<HeldKey> {
  const held = await begun();
  await store.recordCapture(held, LEASE_MS, { name: 'id', position: 1, result: '1' });
  const step = { name: 'paid', position: 2, result: '{}' };
  expect(await store.transact(held, LEASE_MS, async () => ({ steps: [{ ...step, kind: 'atomic' }] }), HOW)).toEqual({
    kind: 'committed',
  });
  expect(await store.steps(held.id)).toHaveLength(2);
  return held;
}

const remove = (key: string) => person.query('DELETE FROM idempotency_keys WHERE key = $1', [key]);
const isKept = async ({ id }: HeldKey) => (await store.find(id)) !== undefined;

/** Resolves once somebody waits for a row that this database's transactions hold. */
async function untilWaiting() {
  const waiting = `SELECT 1 FROM pg_stat_activity WHERE datname = current_database() AND wait_event_type = 'Lock'`;
  await until(
    'somebody waits for a lock',
    async () => (await database.client.$queryRawUnsafe<unknown[]>(waiting)).length > 0,
  );
}

test('they go with a key that a person deletes by hand, and those of all others stay', async () => {
  const [gone, other] = [await withSteps(), await withSteps()];
  await remove(gone.id.key);
  expect([await store.steps(gone.id), await store.steps(other.id)]).toMatchObject([[], [{}, {}]]);
  expect(await store.steps((await beginOn(claimOf(gone.id))).id)).toEqual([]);
});

test('P5 they go with all keys of a batch of the reaper', async () => {
  const helds = [await withSteps(), await withSteps(), await withSteps()];
  for (const held of helds) {
    const settle = { ...DONE, schemaVersion: 1 };
    expect(await store.transact(held, LEASE_MS, async () => ({ settle }), HOW)).toMatchObject({ kind: 'committed' });
    await person.query(`UPDATE idempotency_keys SET expires_at = now() - interval '1 s' WHERE key = $1`, [held.id.key]);
  }
  expect(await store.reapKeys(2)).toBe(2);
  expect((await Promise.all(helds.map(({ id }) => store.steps(id)))).map((steps) => steps.length)).toEqual([0, 0, 2]);
  expect(await store.reapKeys(2)).toBe(1);
  expect(await store.steps((helds[2] as HeldKey).id)).toEqual([]);
});

test('P5 the reaper takes them along where no trigger does, as in tables that `prisma db push` has made', async () => {
  const pushed = await testDatabase({ max: 2, ownsTables: true });
  onTestFinished(() => pushed.drop());
  await pushed.client.$executeRaw`DROP FUNCTION oncekit_delete_steps CASCADE`;
  await pushed.client.$executeRaw`
    INSERT INTO idempotency_keys (tenant, principal, operation, key, state, settled_at, expires_at)
    SELECT 'acme', 'ann', 'pay', 'key-' || n, 'succeeded', now(), now() + (n - 1) * interval '1 h'
      FROM generate_series(0, 2) n`;
  await pushed.client.$executeRaw`
    INSERT INTO idempotency_phases (tenant, principal, operation, key, name, position, kind, state, fencing_token)
    SELECT tenant, principal, operation, key, 'paid', 1, 'atomic', 'done', 1 FROM idempotency_keys`;
  expect(await prismaStore(pushed.client).reapKeys(10)).toBe(2);
  expect(await pushed.client.idempotencyPhase.findMany()).toMatchObject([{ key: 'key-2' }]);
});

test.each(['rolled back', 'killed'])('they stay where the deletion of their key is %s', async (how) => {
  const held = await withSteps();
  const deleting = await connected();
  await deleting.query('BEGIN');
  expect((await deleting.query('DELETE FROM idempotency_keys WHERE key = $1', [held.id.key])).rowCount).toBe(1);
  if (how === 'killed') {
    const { rows } = await deleting.query('SELECT pg_backend_pid() AS pid');
    await person.query('SELECT pg_terminate_backend($1, 5000)', [rows[0].pid]);
  } else {
    await deleting.query('ROLLBACK');
  }
  expect([await isKept(held), await store.steps(held.id)]).toMatchObject([true, [{}, {}]]);
  await deleting.end().catch(() => {});
});

test('a step that is being written while its key is deleted goes, too', async () => {
  const held = await begun();
  const [inside, end] = [gate(), gate()];
  const step = { name: 'paid', position: 1, result: '{}' };
  const stepping = store.transact(
    held,
    LEASE_MS,
    async () => {
      inside.open();
      await end.opened;
      return { steps: [{ ...step, kind: 'atomic' }] };
    },
    HOW,
  );
  await inside.opened;
  const removing = remove(held.id.key);
  await untilWaiting();
  end.open();
  // Where Prisma sends COMMIT the step is looked for afterwards, and may be gone by then.
  expect((await stepping).kind).toMatch(process.env.POOL === 'plain' ? /^(committed|rolled_back)$/ : /^committed$/);
  expect((await removing).rowCount).toBe(1);
  expect(await store.steps(held.id)).toEqual([]);
});

test.each(['atomic', 'capture', 'foreign'])(
  'no %s step is added to a key whose deletion is under way',
  async (kind) => {
    const held = await begun();
    const deleting = await connected();
    await deleting.query('BEGIN');
    await deleting.query('DELETE FROM idempotency_keys WHERE key = $1', [held.id.key]);
    const step = { name: 'paid', position: 1, result: '{}' };
    const call = { name: 'paid', position: 1, arguments: new Uint8Array(1), derivedKey: 'k' };
    const writing = {
      atomic: () => store.transact(held, LEASE_MS, async () => ({ steps: [{ ...step, kind: 'atomic' }] }), HOW),
      capture: () => store.recordCapture(held, LEASE_MS, step),
      foreign: () => store.startForeign(held, LEASE_MS, call),
    }[kind as 'atomic']();
    const written = writing.then(
      (answer) => answer?.kind,
      () => 'refused',
    );
    await untilWaiting();
    await deleting.query('COMMIT');
    await deleting.end();
    expect(await written).toMatch(/^(rolled_back|refused)$/);
    expect(await store.steps(held.id)).toEqual([]);
  },
);

test.each(['TRUNCATE idempotency_keys', 'TRUNCATE idempotency_keys, idempotency_phases'])(
  'all go where the table of keys is emptied at once: %s',
  async (truncate) => {
    await withSteps();
    await person.query(truncate);
    expect(await database.client.idempotencyPhase.count()).toBe(0);
  },
);
