import { userInfo } from 'node:os';
import pg from 'pg';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { type TestDatabase, testDatabase } from '../../../scripts/testing/test-database.ts';
import { createAdmin } from '../../admin/admin.ts';
import { mintKey } from '../../core/key.ts';
import { readSecrets } from '../../core/secrets.ts';
import { rawClient } from '../raw-client.ts';
import { readKeyAct } from './keys.ts';

const secret = ['a secret that is long enough for a test'];
let database: TestDatabase;
let sql: pg.Client;
beforeAll(async () => {
  database = await testDatabase();
  sql = new pg.Client({ connectionString: database.url });
  await sql.connect();
  const key = {
    tenant: 'acme',
    operation: 'checkout',
    claimedAt: new Date(),
    expiresAt: new Date(Date.now() + 90_000_000),
  };
  const open = { ...key, state: 'in_progress', principal: 'ann' };
  const past = new Date(Date.now() - 60_000);
  const due = { leaseUntil: past, nextAttemptAt: past };
  const ahead = new Date(Date.now() + 60_000);
  await database.client.idempotencyKey.createMany({
    data: [
      {
        ...key,
        key: 'done',
        principal: 'ann',
        state: 'succeeded',
        settledAt: new Date(),
        result: '{"card":"secret-card"}',
      },
      { ...key, key: 'ended', principal: 'ann', state: 'failed', settledAt: new Date(), needsAttention: true },
      { ...open, key: 'stuck', ...due, input: Buffer.from('secret-input'), recoveryPoint: 'reserve' },
      { ...open, key: 'begun', ...due },
      { ...open, key: 'alive', leaseUntil: ahead, nextAttemptAt: ahead },
      { ...open, key: 'twice', principal: 'bob\u001b[2J\nsucceeded  checkout  paid', ...due },
      { ...open, key: 'twice', ...due, needsAttention: true },
    ],
  });
  const step = { tenant: 'acme', principal: 'ann', operation: 'checkout', position: 1, fencingToken: 1 };
  await database.client.idempotencyPhase.createMany({
    data: [
      {
        ...step,
        key: 'stuck',
        name: 'reserve',
        kind: 'atomic',
        state: 'done',
        result: '"secret-step"',
        finishedAt: past,
      },
      {
        ...step,
        key: 'done',
        name: 'charge',
        kind: 'foreign',
        state: 'done',
        sends: 1,
        reference: 'ch_9',
        amount: '$9.00',
        knownBy: 'lookup',
      },
      {
        ...step,
        key: 'begun',
        name: 'charge',
        kind: 'foreign',
        state: 'started',
        sends: 1,
        arguments: Buffer.from('secret-call'),
        derivedKey: 'derived-a1',
        reference: 'ch_1',
      },
    ],
  });
  const detail = { said: 'charge.succeeded', step: 'charge', reference: 'ch_1' };
  const begun = { tenant: 'acme', principal: 'ann', operation: 'checkout', key: 'begun' };
  const again = { times: '3', last: '2026-11-28T22:45:10.000Z' };
  await database.client.idempotencyEvent.createMany({
    data: [
      { ...begun, type: 'evidence', actor: 'stripe', detail },
      { ...begun, key: 'done', type: 'replayed', actor: 'client', detail: again },
    ],
  });
});
afterAll(async () => {
  await sql?.end();
  await database?.drop();
});

/** As the command does it, in this process and on a connection of `pg` alone. */
const keys = async (...args: string[]) => readKeyAct(args).run(createAdmin({ prisma: rawClient(sql), secret }));
const eventsOf = async (key: string) =>
  (await database.client.idempotencyAudit.findMany({ where: { key } })).map(({ type, actor }) => `${type} ${actor}`);

test('lists and shows keys without what was sent or answered', async () => {
  const list = await keys('list');
  expect(list.words).toMatch(/^STATE +OPERATION +KEY/);
  expect(list.words).toMatch(/succeeded +checkout +done +acme +ann +1 +\d+ s ago/);
  expect(list.words).toMatch(/in_progress +checkout +twice +acme +bob\?\[2J\?succeeded .*due 1 min ago/);
  // A line for each row, and none that a principal has written.
  const listed = list.words.split('\n').map((line) => line.split(/ +/)[2]);
  expect(listed.sort()).toEqual(['KEY', 'alive', 'begun', 'done', 'ended', 'stuck', 'twice', 'twice']);
  expect(list.words).toMatch(/in_progress +checkout +alive .*lease ends in (5\d|60|1) (s|min)/);
  const stuck = await keys('list', '--stuck', '--json');
  expect(
    JSON.parse(stuck.words)
      .rows.map(({ key }: { key: string }) => key)
      .sort(),
  ).toEqual(['begun', 'ended', 'stuck', 'twice', 'twice']);
  const shown = await keys('show', 'stuck');
  expect(shown.words).toMatch(/Recovery point +reserve\n/);
  expect(shown.words).toMatch(/Steps\n +reserve +atomic +done/);
  const doubted = (await keys('show', 'begun')).words;
  expect(doubted).toMatch(/Steps\n +charge +foreign +started +sent 1× +ch_1 +derived-a1/);
  expect(doubted).toMatch(/Events\n .* evidence +stripe +said charge.succeeded, step charge, reference ch_1$/);
  expect((await keys('show', 'done')).words).toMatch(
    /Steps\n +charge +foreign +done +sent 1× +ch_9, \$9.00, by lookup.*\nEvents\n .* replayed +client +last 2026-11-28T22:45:10.000Z, times 3$/s,
  );
  for (const { words } of [list, stuck, shown, await keys('show', 'done', '--json'), await keys('show', 'begun')]) {
    expect(words).not.toContain('secret');
    expect(words).not.toContain('\u001b');
  }
});

test('a name that several keys have is not guessed at', async () => {
  await expect(keys('show', 'twice')).rejects.toThrow(/^There are 2 keys of that name:\n.+\n.+$/);
  expect((await keys('show', 'twice', '--principal', 'ann')).words).toMatch(/Next +needs attention, due /);
  await expect(keys('show', 'twic')).rejects.toThrow('There is no key twic.');

  const { rows } = await sql.query<{ key: string }>(
    `INSERT INTO idempotency_keys (tenant, principal, operation, key, state, schema_version, claimed_at, settled_at, expires_at)
     SELECT 'acme', 'ann', 'later', n || '-stuck', 'succeeded', 1, now() + interval '1 s', now() + interval '1 s', now() + interval '1 h'
       FROM generate_series(1, 51) n RETURNING key`,
  );
  expect((await keys('show', 'stuck')).words).toMatch(/Recovery point +reserve\n/);
  await sql.query('DELETE FROM idempotency_keys WHERE key = ANY ($1)', [rows.map(({ key }) => key)]);
});

test('X3 releases once, by name, and never what may live or cannot be asked about', async () => {
  expect(await keys('release', 'stuck', '--actor', 'ann')).toMatchObject({ isDone: true });
  expect(await database.client.idempotencyKey.findFirst({ where: { key: 'stuck' } })).toMatchObject({
    fencingToken: 2,
  });
  expect(await keys('release', 'alive')).toMatchObject({
    isDone: false,
    words: expect.stringContaining('may be alive'),
  });
  expect(await keys('release', 'begun')).toMatchObject({ isDone: false });
  expect(await keys('release', 'done')).toMatchObject({
    isDone: false,
    words: expect.stringContaining('it is succeeded'),
  });
  expect([await eventsOf('stuck'), await eventsOf('alive'), await eventsOf('begun')]).toEqual([
    ['released ann'],
    [],
    [],
  ]);
});

test('X3 takes the flag off what has ended, once, and off nothing else', async () => {
  expect((await keys('show', 'ended')).words).toMatch(/Next +needs a person/);
  expect(await keys('acknowledge', 'ended', '--actor', 'ann')).toMatchObject({ isDone: true });
  expect(await keys('acknowledge', 'ended')).toMatchObject({
    words: 'Nothing was done: nobody is asked to look at it.',
  });
  expect(await keys('acknowledge', 'begun')).toMatchObject({
    words: 'Nothing was done: it is in_progress, and has to be finished first.',
  });
  expect([await eventsOf('ended'), await eventsOf('begun')]).toEqual([['acknowledged ann'], []]);
});

test('S5 fences what was never used, for whom it was signed, and nothing else', async () => {
  const whose = ['--operation', 'checkout', '--tenant', 'acme', '--principal', 'ann'];
  const { first } = readSecrets(secret);
  const mint = (principal: string, at = Date.now()) =>
    mintKey(at, { tenant: 'acme', principal, operation: 'checkout' }, first);
  const key = mint('ann');
  expect(await keys('fence', key, ...whose)).toMatchObject({ isDone: true });
  expect(await eventsOf(key)).toEqual([`fenced ${userInfo().username}`]);
  expect(await keys('fence', key, ...whose)).toMatchObject({
    isDone: false,
    words: 'Nothing was done: it was given up before.',
  });
  expect(await keys('fence', 'done', ...whose)).toMatchObject({
    isDone: false,
    words: expect.stringContaining('succeeded'),
  });
  for (const other of [mint('bob'), mint('ann', Date.now() - 25 * 3_600_000)]) {
    expect(await keys('fence', other, ...whose)).toMatchObject({ isDone: false });
    expect(await database.client.idempotencyKey.count({ where: { key: other } })).toBe(0);
  }
});

test('a fence does not wait for ever for a claim that is not committed', async () => {
  const other = await database.client.$connect().then(() => new pg.Client({ connectionString: database.url }));
  await other.connect();
  await other.query('BEGIN');
  await other.query(`INSERT INTO idempotency_keys (tenant, principal, operation, key, state, expires_at)
    VALUES ('acme', 'ann', 'checkout', 'claiming', 'in_progress', now() + interval '1 day')`);
  const whose = ['--operation', 'checkout', '--tenant', 'acme', '--principal', 'ann'];
  expect(await keys('fence', 'claiming', ...whose)).toMatchObject({
    isDone: false,
    words: expect.stringContaining('runs at this moment'),
  });
  await other.end();
});

test.each([
  ['', 'What about keys?'],
  ['lst', 'There is no "keys lst".'],
  ['show', 'It takes 1 name, and there are 0.'],
  ['fence k', 'A key that was never used says nothing of whose it is.'],
  ['list --state done', 'There is no state "done".'],
  ['list --limit 0', '--limit takes a number from 1 to 1000'],
  ['release k --actor=', 'A --actor has 1 to 255 characters.'],
  ['list --sate done', "Unknown option '--sate'."],
])('"keys %s" is refused: %s', (words, why) => {
  expect(() => readKeyAct(words.split(' ').filter(Boolean))).toThrow(why);
});
