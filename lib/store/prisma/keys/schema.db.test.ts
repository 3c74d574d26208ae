import { expect, onTestFinished, test } from 'vitest';
import { expectCounted } from '../../../../scripts/testing/expect-counted.ts';
import { testDatabase } from '../../../../scripts/testing/test-database.ts';
import { readKitFiles } from '../../../cli/init/kit-files.ts';
import { assertTransition, KEY_STATES, type KeyState } from '../../../core/key-state.ts';
import { anything, effect, effects, freshKey, kit } from '../../../integration/kit.fixture.ts';
import { createInbox, createOutbox } from '../../../messaging/prisma.ts';

function isLegal(from: KeyState, to: KeyState): boolean {
  try {
    assertTransition(from, to);
    return true;
  } catch {
    return false;
  }
}

/** A database with something done to it, and the kit on it. */
async function on(...statements: string[]) {
  const database = await testDatabase({ max: 2, ownsTables: true });
  onTestFinished(() => database.drop());
  const run = (statement: string) => database.client.$executeRawUnsafe(statement);
  for (const statement of statements) await run(statement);
  const told: unknown[] = [];
  const idempotency = kit(database.client, { onError: (error) => void told.push(error) });
  return { ...database, run, told, idempotency, order: orderOn(idempotency) };
}

const orderOn = (idempotency: ReturnType<typeof kit>) =>
  idempotency.operation({ name: 'order', schema: anything }).handler(async ({ tx, key }) => {
    await effect(tx, key);
    return 'done';
  });

const mark = (table: string, text: string | null) =>
  `COMMENT ON TABLE ${table} IS ${text === null ? 'NULL' : `'${text}'`}`;

const verdicts = async ({ idempotency }: { idempotency: ReturnType<typeof kit> }) =>
  (await idempotency.readSchema()).map(({ part, verdict }) => [part, verdict]);

test('the version that the migrations have written is read back, part by part', async () => {
  const there = await on();
  expect(await there.idempotency.readSchema()).toEqual([
    { part: 'keys', verdict: 'current', existing: 'oncekit keys schema 7', expected: 'oncekit keys schema 7' },
    {
      part: 'messaging',
      verdict: 'current',
      existing: 'oncekit messaging schema 3',
      expected: 'oncekit messaging schema 3',
    },
  ]);
  await there.run(mark('idempotency_keys', 'oncekit schema 0'));
  await there.run(mark('outbox_events', 'oncekit schema 12, by hand'));
  expect(await verdicts(there)).toEqual([
    ['keys', 'older'],
    ['messaging', 'newer'],
  ]);
  await there.run(mark('idempotency_keys', null));
  await there.run('DROP TABLE outbox_events CASCADE');
  expect(await verdicts(there)).toEqual([
    ['keys', 'unmarked'],
    ['messaging', 'missing'],
  ]);
  const [, messaging] = await there.idempotency.readSchema();
  expect(messaging?.advice).toBe('Run npx oncekit init --messaging, then npx prisma migrate deploy.');
});

const gaps: [string, string[], { existing: RegExp; message: RegExp }][] = [
  [
    'a column is missing, as before a migration',
    ['ALTER TABLE idempotency_keys DROP COLUMN trace_parent', mark('idempotency_keys', 'oncekit schema 0')],
    {
      existing: /^oncekit keys schema 0; .*trace_parent/,
      message: /Run npx oncekit init, then npx prisma migrate deploy/,
    },
  ],
  [
    'a column that only the completion writes is missing',
    ['ALTER TABLE idempotency_keys DROP COLUMN settled_at'],
    { existing: /^oncekit keys schema 7; .*settled_at/, message: /changed its tables/ },
  ],
  [
    'no migration has run',
    ['DROP TABLE idempotency_keys CASCADE'],
    {
      existing: /^no keys tables of oncekit in the search_path "\$user", public; .*idempotency_keys/,
      message: /Run npx oncekit init/,
    },
  ],
  [
    'they are in a schema that the search_path leaves out',
    ['CREATE SCHEMA "Kit"', 'ALTER TABLE idempotency_keys SET SCHEMA "Kit"'],
    {
      existing: /^no keys tables of oncekit in the search_path "\$user", public; .*idempotency_keys/,
      message: /They are in the schema Kit\. Say tables: \{ schema: 'Kit' \} to createIdempotency/,
    },
  ],
];

test.each(gaps)('%s: said with what to run, and nothing is executed', async (_, statements, { existing, message }) => {
  const { order, client } = await on(...statements);
  const key = freshKey();
  await expect(order.execute({ key, payload: {} })).rejects.toMatchObject({
    name: 'ConfigurationError',
    message: expect.stringMatching(message),
    existing: expect.stringMatching(existing),
    expected: 'oncekit keys schema 7',
  });
  expectCounted(await effects(client, key)).toBe(0);
});

test('an operation in phases is told the same, before its first phase', async () => {
  const { client, idempotency } = await on('ALTER TABLE idempotency_keys DROP COLUMN input');
  const key = freshKey();
  const pay = idempotency.operation({ name: 'pay', schema: anything }).phases(async ({ atomic }) => {
    await atomic('paid', (tx) => effect(tx, key));
    return 'paid';
  });
  await expect(pay.execute({ key, payload: {} })).rejects.toMatchObject({ name: 'ConfigurationError' });
  expectCounted(await effects(client, key)).toBe(0);
});

test.each([
  ['first', false],
  ['behind a phase', true],
])('a call is not sent where its receipt could not be written down: %s', async (_, isBehind) => {
  const { idempotency, run, told } = await on(
    'ALTER TABLE idempotency_phases DROP COLUMN amount, DROP COLUMN known_by',
    mark('idempotency_keys', 'oncekit schema 6'),
  );
  let sends = 0;
  const key = freshKey();
  const pay = idempotency.operation({ name: 'pay', schema: anything }).phases(async ({ atomic, foreign }) => {
    if (isBehind) await atomic('ordered', (tx) => effect(tx, key));
    const send = async () => ({ id: `ch_${++sends}` });
    return await foreign('charged', { arguments: {}, send, indeterminate: 'unknown' });
  });
  expect(await pay.execute({ key, payload: {} })).toMatchObject({ code: 'internal', retry: 'same-key' });
  const message = expect.stringContaining('Run npx oncekit init, then npx prisma migrate deploy.');
  expect(told).toContainEqual(expect.objectContaining({ name: 'ConfigurationError', message }));
  expectCounted(sends).toBe(0);

  const migration = readKitFiles().migrations.find(({ part, version }) => part === 'keys' && version === 7);
  for (const statement of migration?.sql.split(';\n') ?? []) if (statement) await run(statement);
  await run(`UPDATE idempotency_keys SET lease_until = now(), next_attempt_at = now() WHERE key = '${key}'`);
  expect(await pay.execute({ key, payload: {}, attempt: 2 })).toMatchObject({ ok: true, data: { id: 'ch_1' } });
  expectCounted(sends).toBe(1);
});

test('a key that was refused for its tables is free once the migration has run', async () => {
  const { order, client, run } = await on('ALTER TABLE idempotency_keys DROP COLUMN trace_parent');
  const key = freshKey();
  await expect(order.execute({ key, payload: {} })).rejects.toMatchObject({ name: 'ConfigurationError' });
  await run('ALTER TABLE idempotency_keys ADD COLUMN trace_parent TEXT');
  expect(await order.execute({ key, payload: {} })).toMatchObject({ ok: true, replayed: false });
  expectCounted(await effects(client, key)).toBe(1);
});

test('an older kit goes on on a newer schema: what was added does not concern it', async () => {
  const { order, client } = await on(
    'ALTER TABLE idempotency_keys ADD COLUMN "of a later version" INTEGER NOT NULL DEFAULT 0',
    mark('idempotency_keys', 'oncekit schema 8'),
  );
  const key = freshKey();
  expect(await order.execute({ key, payload: {} })).toMatchObject({ ok: true, replayed: false });
  expect(await order.execute({ key, payload: {}, attempt: 2 })).toMatchObject({ ok: true, replayed: true });
  expectCounted(await effects(client, key)).toBe(1);
});

test('a table of the app that is missing is the app’s own error', async () => {
  const { idempotency, told } = await on();
  const key = freshKey();
  const odd = idempotency.operation({ name: 'odd', schema: anything }).handler(async ({ tx }) => {
    await tx.$queryRawUnsafe('SELECT * FROM no_such_table');
  });
  expect(await odd.execute({ key, payload: {} })).toMatchObject({ code: 'internal', executed: false });
  expect(told).toMatchObject([{ code: 'P2010' }]);
});

test('an app that sends and receives without the tables of messaging is told which to make', async () => {
  const { client, idempotency, told } = await on('DROP TABLE outbox_events, inbox_events CASCADE');
  const outbox = createOutbox({ prisma: client, destinations: [] });
  const key = freshKey();
  const announcing = idempotency.operation({ name: 'announcing', schema: anything }).handler(async (context) => {
    await effect(context.tx, key);
    await outbox.enqueue(context.tx, { type: 'paid', aggregate: 'order:1', payload: {} }, context);
  });
  expect(await announcing.execute({ key, payload: {} })).toMatchObject({ code: 'internal', executed: false });
  const said = { name: 'ConfigurationError', message: expect.stringContaining('npx oncekit init --messaging') };
  expect(told).toMatchObject([said]);
  expectCounted(await effects(client, key)).toBe(0);

  let runs = 0;
  const inbox = createInbox({ prisma: client, sources: { bank: { handle: async () => void runs++ } } });
  const event = { source: 'bank', eventId: 'evt_1', payload: {} };
  await expect(inbox.receiveOnce(event)).rejects.toMatchObject(said);
  expect(runs).toBe(0);
});

test('S1 the database lets a key become what the table of transitions allows, and nothing else', async () => {
  const { run } = await on();
  const isOpen = (state: KeyState) => ['in_progress', 'unknown'].includes(state);
  for (const from of KEY_STATES) {
    await run(`INSERT INTO idempotency_keys (tenant, principal, operation, key, state, settled_at, expires_at)
      VALUES ('t', 'p', 'pay', '${from}', '${from}', ${isOpen(from) ? 'NULL' : 'now()'}, now())`);
  }
  const became: string[] = [];
  const legal: string[] = [];
  for (const from of KEY_STATES) {
    for (const to of KEY_STATES) {
      const step = `${from} -> ${to}`;
      if (from === to || isLegal(from, to)) legal.push(step);
      const become = `UPDATE idempotency_keys
        SET state = '${to}', settled_at = ${isOpen(to) ? 'NULL' : 'now()'} WHERE key = '${from}'`;
      const undone = run(`DO $$ BEGIN ${become}; RAISE EXCEPTION 'it may'; END $$`);
      const { message } = await undone.then(
        () => new Error('done'),
        (error: Error) => error,
      );
      if (message.includes('it may')) became.push(step);
      else expect(message).toContain('oncekit_key_rules()');
    }
  }
  expect(became).toEqual(legal);
});

test('triggers run nothing that somebody else has made in the schema', async () => {
  const { run, client } = await on(
    `CREATE FUNCTION planted(varchar, varchar) RETURNS boolean LANGUAGE plpgsql AS $$ BEGIN RAISE EXCEPTION 'planted'; END $$`,
    'CREATE OPERATOR = (LEFTARG = varchar, RIGHTARG = varchar, FUNCTION = planted)',
  );
  await run(`INSERT INTO idempotency_keys (tenant, principal, operation, key, state, expires_at)
    VALUES ('t', 'p', 'pay', 'k', 'in_progress', now())`);
  await run(`INSERT INTO idempotency_phases (tenant, principal, operation, key, name, position, kind, state, fencing_token)
    VALUES ('t', 'p', 'pay', 'k', 'paid', 1, 'atomic', 'done', 1)`);
  await run(`UPDATE idempotency_keys SET state = 'succeeded', settled_at = now()`);
  await run('DELETE FROM idempotency_keys');
  expect(await client.idempotencyPhase.count()).toBe(0);
  const unnamed = client.$queryRaw`
    SELECT DISTINCT proname::text FROM pg_trigger JOIN pg_proc ON pg_proc.oid = tgfoid
     WHERE NOT tgisinternal AND proconfig IS DISTINCT FROM '{"search_path=pg_catalog, pg_temp"}'`;
  expect(await unnamed).toEqual([]);
});
