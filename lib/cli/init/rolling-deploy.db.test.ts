import pg from 'pg';
import { afterAll, beforeAll, describe, expect, onTestFinished, test } from 'vitest';
import { type TestDatabase, testDatabase } from '../../../scripts/testing/test-database.ts';
import { createClient } from '../../../shop/db.ts';
import { claimOf, DONE, HOW, refusedAs } from '../../store/contract-harness.fixture.ts';
import { claimValues, thingValues } from '../../store/prisma/keys/claim.ts';
import { keyValues } from '../../store/prisma/keys/read.ts';
import { lockTimeout, ticketOf } from '../../store/prisma/keys/ticket.ts';
import { prismaStore } from '../../store/prisma/store.ts';
import type { Claim, Completion } from '../../store/rows.ts';
import { readKitFiles } from './kit-files.ts';
import { VERSION_5 } from './version-5.fixture.ts';

// The migration runs first, and instances of version 5 go on beside those of version 6: neither does a thing that the other
// has done.

const migrations = readKitFiles().migrations.filter(({ part }) => part === 'keys');
const upTo5 = migrations.filter(({ version }) => version <= 5).map(({ sql }) => sql);
const to6 = migrations.find(({ version }) => version === 6)?.sql as string;
const LEASE = { leaseMs: 60_000, firstToken: 1, input: new Uint8Array([1]) };
const THING = { thing: 'cart' };

let server: TestDatabase;
beforeAll(async () => {
  server = await testDatabase();
});
afterAll(() => server?.drop());

/** An empty database with tables of version 5. */
async function tablesOf5() {
  const name = `${new URL(server.url).pathname.slice(1)}_rolling`;
  await server.client.$executeRawUnsafe(`CREATE DATABASE ${name} TEMPLATE template0`);
  const url = Object.assign(new URL(server.url), { pathname: name }).href;
  const [sql, client] = [new pg.Client({ connectionString: url }), createClient(url)];
  await sql.connect();
  onTestFinished(async () => {
    await sql.end();
    await client.$disconnect();
    await server.client.$executeRawUnsafe(`DROP DATABASE ${name} WITH (FORCE)`);
  });
  for (const each of upTo5) await sql.query(each);
  await sql.query('CREATE TABLE effects (thing text)');
  const effects = async () => (await sql.query('SELECT thing FROM effects')).rows.map(({ thing }) => thing);
  const hasIndex = async () =>
    (await sql.query(`SELECT to_regclass('idempotency_keys_thing_idx') IS NOT NULL AS it`)).rows[0].it;
  return { url, sql, client, effects, hasIndex };
}

type Way = 'at once' | 'waiting' | 'in phases';
const WAYS: Way[] = ['at once', 'waiting', 'in phases'];
type Ended = 'done' | 'turned away';

/** An execution of version 5, as its statements make it: what claims, the effect, what completes. */
async function execute5(sql: pg.Client, claim: Claim, way: Way, to: Completion = DONE): Promise<Ended> {
  const key = keyValues(claim);
  const { thing = '', fingerprint, schemaVersion } = claim;
  const [ticket, [, , thingTicket]] = [ticketOf(claim), thingValues(claim, thing)];
  const work = () => sql.query('INSERT INTO effects VALUES ($1)', [thing]);
  const claimed = async (text: string, values: unknown[]) => (await sql.query(text, values)).rows[0];
  await sql.query('BEGIN');
  try {
    if (way === 'at once') {
      await sql.query(VERSION_5.DRAW_BOTH, [ticket, thingTicket]);
      const looked = await claimed(VERSION_5.LOOK_FOR_THING, [...key, null, claim.windowMs, '9s', thing]);
      if (!looked.isFree) return 'turned away';
      await work();
      const { hash, version, secretId } = fingerprint;
      const times = [null, new Date(), new Date(Date.now() + claim.retentionMs)];
      const sealed = [Buffer.from(hash), version, secretId, schemaVersion, ...times, null, to.result];
      await sql.query(VERSION_5.WRITE, [...key, to.state, ...sealed, thing]);
    } else if (way === 'waiting') {
      const values = [...claimValues(claim, 9000), thing, thingTicket, lockTimeout(10_000)];
      if (!(await claimed(VERSION_5.CLAIM_WAITING, values))) return 'turned away';
      await work();
      await sql.query(VERSION_5.COMPLETE, [...key, 1, to.state, to.result]);
    } else {
      const lease = [LEASE.leaseMs, Buffer.from(LEASE.input), LEASE.firstToken, thing, thingTicket];
      const values = [...claimValues(claim, 9000), lockTimeout(10_000), true, ...lease];
      if (!(await claimed(VERSION_5.BEGIN, values))) return 'turned away';
      await work();
      await sql.query(
        `UPDATE idempotency_keys SET state = $5, result = $6, settled_at = clock_timestamp(), lease_until = NULL,
                next_attempt_at = NULL, input = NULL
          WHERE tenant = $1 AND principal = $2 AND operation = $3 AND key = $4`,
        [...key, to.state, to.result],
      );
    }
    await sql.query('COMMIT');
    return 'done';
  } catch (error) {
    if ((error as { code?: string }).code !== '23505') throw error;
    return 'turned away';
  } finally {
    await sql.query('ROLLBACK');
  }
}

/** The same of this version. */
async function execute6(client: TestDatabase['client'], claim: Claim, way: Way): Promise<Ended> {
  const store = prismaStore(client);
  const work = (tx: { $executeRawUnsafe(sql: string, ...values: unknown[]): PromiseLike<unknown> }) =>
    tx.$executeRawUnsafe('INSERT INTO effects VALUES ($1)', claim.thing);
  const settle = { ...DONE, schemaVersion: 3 };
  const ended =
    way === 'in phases'
      ? await store.begin({ ...claim, ...LEASE }, async ({ tx }) => work(tx).then(() => ({ settle })), HOW)
      : await store.execute(
          { ...claim, waitMs: way === 'at once' ? 0 : 10_000 },
          async (tx) => work(tx).then(() => DONE),
          HOW,
        );
  if (ended.kind === 'committed') return 'done';
  expect(['existing', 'thing_done', 'locked']).toContain(ended.kind);
  return 'turned away';
}

describe.each([
  ['with the index of version 5, as it stays where there were keys', true],
  ['without it', false],
])('A6 versions 5 and 6 on tables of version 6, %s', (_, keepsIndex) => {
  async function rolling() {
    const there = await tablesOf5();
    const before = claimOf({ thing: 'done before' });
    if (keepsIndex) expect(await execute5(there.sql, before, 'at once')).toBe('done');
    await there.sql.query(to6);
    expect(await there.hasIndex()).toBe(keepsIndex);
    return { ...there, before };
  }

  test.each(WAYS.flatMap((old) => WAYS.map((now) => [old, now] as const)))(
    'A6 what version 5 has done %s, version 6 does not do %s, nor the other way round',
    async (old, now) => {
      const { sql, client, effects, before } = await rolling();
      const [a, b] = [THING, { thing: 'invoice' }];
      expect(await execute5(sql, claimOf(a), old)).toBe('done');
      expect(await execute6(client, claimOf(a), now)).toBe('turned away');
      expect(await execute6(client, claimOf(b), now)).toBe('done');
      expect(await execute5(sql, claimOf(b), old)).toBe('turned away');
      if (keepsIndex) expect(await execute6(client, claimOf({ thing: before.thing }), now)).toBe('turned away');
      expect(await effects()).toEqual([...(keepsIndex ? ['done before'] : []), 'cart', 'invoice']);
    },
  );

  test('A6 version 6 is told whose row it is that version 5 has written', async () => {
    const { sql, client } = await rolling();
    const first = claimOf(THING);
    await execute5(sql, first, 'waiting');
    const found = await prismaStore(client).findObstacle(claimOf(THING));
    expect(found).toMatchObject({ kind: 'existing', row: { key: first.key, state: 'succeeded' } });
    const second = claimOf({ thing: 'invoice' });
    await execute6(client, second, 'at once');
    const { rows } = await sql.query(VERSION_5.FIND_HOLDER, [second.tenant, second.operation, 'invoice']);
    expect(rows).toMatchObject([{ key: second.key, state: 'succeeded' }]);
  });

  test.each(['waiting', 'in phases'] as const)('A6 a refusal of version 5 frees it, %s', async (way) => {
    const { sql, client } = await rolling();
    expect(await execute5(sql, claimOf(THING), way, refusedAs(false))).toBe('done');
    expect(await execute6(client, claimOf(THING), 'at once')).toBe('done');
  });

  test.each(WAYS)('A6 what is held for ever, version 5 does not do once its key is gone, %s', async (way) => {
    const { sql, client, effects } = await rolling();
    const before = await effects();
    await execute6(client, claimOf({ ...THING, holdsForever: true }), 'at once');
    await sql.query('DELETE FROM idempotency_keys WHERE thing = $1', ['cart']);
    expect(await execute5(sql, claimOf(THING), way)).toBe('turned away');
    expect(await effects()).toEqual([...before, 'cart']);
  });

  test('A6 C1 of many of both at once one does it', async () => {
    const { url, client, effects } = await rolling();
    const before = await effects();
    const ended = await Promise.all(
      Array.from({ length: 18 }, async (_, n) => {
        const way = WAYS[n % 3] as Way;
        if (n % 2) return await execute6(client, claimOf(THING), way);
        const sql = new pg.Client({ connectionString: url });
        await sql.connect();
        return await execute5(sql, claimOf(THING), way).finally(() => sql.end());
      }),
    );
    expect(ended.filter((each) => each === 'done')).toHaveLength(1);
    expect(await effects()).toEqual([...before, 'cart']);
  });
});

test('A6 on tables of version 5 version 6 does what names no thing, and says what to run for what does', async () => {
  const { client, effects } = await tablesOf5();
  for (const way of WAYS) {
    expect(await execute6(client, claimOf(), way)).toBe('done');
    await expect(execute6(client, claimOf(THING), way)).rejects.toMatchObject({
      name: 'ConfigurationError',
      message: expect.stringContaining('Run npx oncekit init, then npx prisma migrate deploy.'),
      existing: expect.stringContaining('oncekit keys schema 5'),
    });
  }
  expect(await effects()).toEqual([null, null, null]);
});

test('A6 a role that may write keys, and no more, goes on as version 5 and as version 6, and frees what it has held', async () => {
  const { sql, client } = await tablesOf5();
  const role = `${new URL(server.url).pathname.slice(1)}_"writer`;
  const quoted = pg.escapeIdentifier(role);
  onTestFinished(async () => void (await server.client.$executeRawUnsafe(`DROP ROLE ${quoted}`)));
  await sql.query(
    `CREATE ROLE ${quoted}; GRANT USAGE ON SCHEMA public TO ${quoted}; GRANT INSERT ON effects TO ${quoted}`,
  );
  await sql.query(`GRANT SELECT, INSERT, UPDATE ON idempotency_keys TO ${quoted}`);
  await sql.query(to6);
  await sql.query(`SET ROLE ${quoted}`);
  expect(await execute5(sql, claimOf(THING), 'in phases', refusedAs(false))).toBe('done');
  expect(await execute5(sql, claimOf(THING), 'at once')).toBe('done');
  await sql.query('RESET ROLE');
  const begin = [['role', role]] as const;
  const ended = await prismaStore(client).execute(claimOf({ thing: 'invoice' }), async () => DONE, { ...HOW, begin });
  expect(ended).toMatchObject({ kind: 'committed' });
  await sql.query(`DROP OWNED BY ${quoted}`);
});

test('A6 the migration gives what each role has of the keys, its owner too, whoever runs it', async () => {
  const { sql } = await tablesOf5();
  const name = (role: string) => pg.escapeIdentifier(`${new URL(server.url).pathname.slice(1)}_${role}`);
  const [owner, reaper, settler, reader] = ['owner', 'reaper', 'settler', 'reader'].map(name);
  onTestFinished(async () => {
    for (const role of [owner, reaper, settler, reader]) await server.client.$executeRawUnsafe(`DROP ROLE ${role}`);
  });
  await sql.query(`CREATE ROLE ${owner}; CREATE ROLE ${reaper}; CREATE ROLE ${settler}; CREATE ROLE ${reader};
    GRANT USAGE ON SCHEMA public TO ${owner}, ${reaper}, ${settler}, ${reader};
    ALTER TABLE idempotency_keys OWNER TO ${owner}; ALTER TABLE idempotency_phases OWNER TO ${owner};
    GRANT SELECT, DELETE ON idempotency_keys TO ${reaper}; GRANT SELECT, UPDATE ON idempotency_keys TO ${settler};
    GRANT SELECT, DELETE ON idempotency_phases TO ${reaper}; GRANT SELECT, UPDATE ON idempotency_phases TO ${settler};
    GRANT SELECT ON idempotency_keys TO ${reader}`);
  await sql.query(to6);
  const as = async (role: string | undefined, text: string) => {
    await sql.query(`SET ROLE ${role}`);
    return await sql.query(text).finally(() => sql.query('RESET ROLE'));
  };
  const claim = claimOf(THING);
  const INSERT = `INSERT INTO idempotency_keys (tenant, principal, operation, key, state, expires_at, thing)
    VALUES ('${claim.tenant}', 'ann', '${claim.operation}', 'k', 'in_progress', now() + interval '1 h', 'cart')`;
  const held = async () => (await as(reader, 'SELECT thing FROM idempotency_things')).rowCount;
  await as(owner, INSERT);
  expect(await held()).toBe(1);
  const { result } = refusedAs(false);
  await as(settler, `UPDATE idempotency_keys SET state = 'failed', result = '${result}', settled_at = now()`);
  expect(await held()).toBe(0);
  await as(owner, `DELETE FROM idempotency_keys; ${INSERT}`);
  await as(reaper, 'DELETE FROM idempotency_keys');
  expect(await held()).toBe(0);
  await sql.query(`DROP OWNED BY ${owner}, ${reaper}, ${settler}, ${reader} CASCADE`);
});

test('A6 an upgrade from 5 keeps keys as they are, and takes over what they hold', async () => {
  const { sql } = await tablesOf5();
  const keys = async () => (await sql.query('SELECT * FROM idempotency_keys ORDER BY key')).rows;
  const held = [claimOf({ thing: 'cart', principal: 'ann' }), claimOf({ thing: 'cart', tenant: 'other' })];
  for (const claim of held) await execute5(sql, claim, 'waiting');
  await execute5(sql, claimOf({ thing: 'refused' }), 'in phases', refusedAs(true));
  const was = await keys();
  await sql.query(to6);
  expect(await keys()).toEqual(was);
  const { rows } = await sql.query('SELECT * FROM idempotency_things ORDER BY key');
  const rowOf = ({ tenant, operation, thing, principal, key }: Claim) => ({ tenant, operation, thing, principal, key });
  expect(rows).toEqual(held.map((claim) => ({ ...rowOf(claim), is_forever: false })));
});
