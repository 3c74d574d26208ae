import pg from 'pg';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { type Pair, scratchPair } from '../../scripts/services/postgres-scratch.ts';
import { until } from '../../scripts/testing/until.ts';
import { type Client, createClient } from '../../shop/db.ts';
import { checkClient } from '../cli/doctor/client.ts';
import { checkDurability } from '../cli/doctor/server.ts';
import { anything, freshKey, kit } from '../integration/kit.fixture.ts';
import { databaseFacts, recordTimeline } from '../store/prisma/keys/tallies.ts';
import { prismaStore } from '../store/prisma/store.ts';
import { createAdmin } from './admin.ts';
import { promisesOf } from './promises.ts';

let pair: Pair;
let client: Client;
beforeAll(async () => {
  pair = await scratchPair();
  client = createClient(pair.primary.url, { max: 1 });
});
afterAll(async () => {
  await client?.$disconnect();
  await pair?.close();
});

/** As the server has it from now on. */
async function set(settings: Record<string, string>) {
  for (const [name, value] of Object.entries(settings)) await pair.sql.query(`ALTER SYSTEM SET ${name} = '${value}'`);
  await pair.sql.query('SELECT pg_reload_conf()');
  for (const [name, value] of Object.entries(settings)) {
    const now = () => client.$queryRawUnsafe<{ now: string }[]>(`SELECT current_setting('${name}') AS now`);
    await until(`${name} is ${value}`, async () => (await now())[0]?.now === value);
  }
}

const says = async () => {
  const { engine, promises } = await createAdmin({ prisma: client }).promises();
  // The tests' servers skip the disk.
  return { engine, promises: promises.filter((one) => !one.says.startsWith('fsync is off')) };
};

test('a standby that no COMMIT waits for, one that it waits for, and one that is gone', async () => {
  expect(await says()).toMatchObject({
    engine: expect.stringMatching(/^PostgreSQL 18/),
    promises: [{ level: 'warning', says: expect.stringContaining('A standby follows, none of them synchronous') }],
  });
  await set({ synchronous_standby_names: 'standby' });
  await expect.poll(async () => (await says()).promises).toEqual([]);
  await set({ synchronous_commit: 'local' });
  expect((await says()).promises).toMatchObject([{ says: expect.stringContaining('synchronous_commit is local') }]);
  await set({ synchronous_standby_names: 'another' });
  await expect
    .poll(async () => (await says()).promises)
    .toMatchObject([{ level: 'problem', says: expect.stringContaining('has no end') }, { level: 'warning' }]);
  await set({ synchronous_standby_names: '', synchronous_commit: 'off' });
  expect((await says()).promises).toMatchObject([
    { level: 'warning', says: expect.stringContaining('synchronous_commit is off') },
    { level: 'warning' },
  ]);
  await set({ synchronous_commit: 'on' });
});

test('fsync that is off is said, and an operation that waits for a standby where there is none', async () => {
  const facts = await databaseFacts(client);
  expect(promisesOf(facts, { replicated: ['pay'] }).map(({ level, says }) => [level, says.slice(0, 16)])).toEqual([
    ['problem', 'pay: durability '],
    ['warning', 'fsync is off: a '],
  ]);
  expect(promisesOf({ ...facts, hasFsync: true, standbys: 0 })).toEqual([
    { level: 'ok', says: 'One server: what is answered survives a crash of it.' },
  ]);
  // Storage of its own, whatever the settings of standbys say.
  expect(promisesOf({ ...facts, hasFsync: true, engine: 'Aurora PostgreSQL 16.6' })).toMatchObject([{ level: 'ok' }]);
});

test('on a standby the first thing is that it takes no writes', async () => {
  const standby = createClient(pair.standby.url, { max: 1 });
  const { promises } = await createAdmin({ prisma: standby }).promises();
  expect(promises[0]).toMatchObject({ level: 'problem', says: 'It is a standby, and takes no writes.' });
  await standby.$disconnect();
});

test('a status never comes from a standby, wherever the client reads; and doctor says where it does', async () => {
  const standby = createClient(pair.standby.url, { max: 1 });
  const reading = client.$extends({
    client: { $primary: () => client },
    query: { $queryRawUnsafe: ({ args }) => standby.$queryRawUnsafe(...(args as unknown as [string])) },
  });
  const onPrimary = kit(client)
    .operation({ name: 'checkout', schema: anything })
    .handler(async () => 'done');
  const onStandby = kit(reading as unknown as Client)
    .operation({ name: 'checkout', schema: anything })
    .handler(async () => 'done');
  const key = freshKey();
  await pair.freezeStandby();
  expect(await onPrimary.execute({ key, payload: {} })).toMatchObject({ ok: true });
  expect(await onStandby.status({ key })).toMatchObject({ state: 'succeeded' });
  expect(await onStandby.execute({ key, payload: {}, attempt: 2 })).toMatchObject({ ok: true, replayed: true });
  await pair.thawStandby();
  const findings = await checkClient(pair.sql, () => prismaStore(reading as unknown as Client).tryClaim());
  expect(findings).toContainEqual(expect.objectContaining({ check: 'Reads', level: 'warning' }));
  expect(await checkClient(pair.sql, () => prismaStore(client).tryClaim())).not.toContainEqual(
    expect.objectContaining({ check: 'Reads' }),
  );
  await standby.$disconnect();
});

test('a role of an app’s may not see how a standby replicates, and is told of no fault that it cannot see', async () => {
  const role = `app_${process.pid}`;
  await pair.sql.query(`CREATE ROLE ${role} LOGIN PASSWORD 'app'`);
  await pair.sql.query(`GRANT SELECT ON ALL TABLES IN SCHEMA public TO ${role}`);
  await set({ synchronous_standby_names: 'standby' });
  const url = Object.assign(new URL(pair.primary.url), { username: role, password: 'app' }).href;
  const app = createClient(url, { max: 1 });
  expect(await databaseFacts(app)).toMatchObject({ standbys: 1, synchronousStandbys: null });
  await app.$disconnect();
  await set({ synchronous_standby_names: '' });
});

test('a promotion is a new timeline: since when, and what may be missing, is said in words, by doctor too', async () => {
  const store = prismaStore(client);
  await recordTimeline(client, 0);
  expect((await says()).promises.filter(({ says }) => says.includes('timeline'))).toEqual([]);
  expect(await store.tallies(new Date(0))).toEqual([]);
  // The standby has it before it is promoted.
  const standby = new pg.Client({ connectionString: pair.standby.url });
  await standby.connect();
  const has = `SELECT FROM idempotency_tallies WHERE outcome = 'timeline'`;
  await until('the standby has it', async () => (await standby.query(has)).rowCount === 1);
  await standby.query('SELECT pg_promote()');
  const promoted = createClient(pair.standby.url, { max: 1 });
  await recordTimeline(promoted, 0);
  const { promises } = await createAdmin({ prisma: promoted }).promises();
  expect(promises.map(({ says }) => says)).toContainEqual(
    expect.stringMatching(
      /^Its timeline went from 1 to 2 at about .* UTC to .* UTC: a failover or a restore\. Keys may/,
    ),
  );
  const findings = await checkDurability(standby, { rename: undefined, replicated: [] });
  expect(findings).toContainEqual(
    expect.objectContaining({ check: 'Durability', level: 'warning', says: expect.stringContaining('timeline') }),
  );
  await promoted.$disconnect();
  await standby.end();
});
