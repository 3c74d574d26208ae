import { afterAll, beforeAll, expect, test } from 'vitest';
import { expectCounted } from '../../scripts/testing/expect-counted.ts';
import { type TestDatabase, testDatabase } from '../../scripts/testing/test-database.ts';
import { ANN, anything, freshKey, kit, pastTriggers, rowsOf } from '../integration/kit.fixture.ts';
import { createAdmin, joinTransaction } from './index.ts';

let database: TestDatabase;
beforeAll(async () => {
  database = await testDatabase();
});
afterAll(() => database?.drop());

const ADMIN = { tenant: 'admin', principal: 'eve' };
const recordsOf = async (key: string) =>
  (await database.client.idempotencyAudit.findMany({ where: { key } })).map(({ type }) => type);

/** An admin's `act` as an operation of the kit. `said`: what waited for the commit, and how many records stood by then. */
function adminOperation(act: (admin: ReturnType<typeof createAdmin>, key: string) => Promise<string>, fails = false) {
  const said: string[] = [];
  const operation = kit(database.client)
    .operation({ name: 'admin.act', schema: anything })
    .handler(async ({ input, tx, afterCommit }) => {
      const { key } = input as { key: string };
      const note = async (what: string) => void said.push(`${what}, ${(await recordsOf(key)).length} recorded`);
      const admin = createAdmin({
        prisma: joinTransaction(tx),
        afterCommit,
        complete: () => note('driven on'),
        dropRecent: () => void said.push('dropped'),
        log: ({ msg }) => void said.push(msg),
      });
      const outcome = await act(admin, key);
      if (fails) throw new Error('after the act');
      return outcome;
    });
  return { operation, said };
}

async function keyThat(sql: string): Promise<string> {
  const key = freshKey();
  const op = kit(database.client).operation({ name: 'pay', schema: anything });
  await op.handler(async () => 'paid').execute({ key, payload: {}, scope: ANN });
  await pastTriggers(database.client, `UPDATE idempotency_keys SET ${sql} WHERE key = $1`, key);
  return key;
}

const idOf = (key: string) => ({ ...ANN, operation: 'pay', key });
const seen = (key: string) => ({ ...idOf(key), fencingToken: 1 });
const UNFINISHED = `state = 'in_progress', result = NULL, settled_at = NULL, lease_until = now() - interval '1 s', fencing_token = 1, next_attempt_at = now() - interval '1 s'`;

test('sent three times at once and once later, all get the same answer, and it is done and recorded once', async () => {
  const key = await keyThat(UNFINISHED);
  const { operation, said } = adminOperation((admin, of) => admin.retryNow(seen(of), 'eve'));
  const actKey = freshKey();
  const send = () => operation.execute({ key: actKey, payload: { key }, scope: ADMIN });
  const copies = [...(await Promise.all([send(), send(), send()])), await send()];
  expect(copies.map((outcome) => outcome.ok && outcome.data)).toEqual(Array(4).fill('recorded'));
  expect(await recordsOf(key)).toEqual(['retry']);
  // What follows has waited for the commit.
  expect(said).toEqual(['audit: retry', 'driven on, 1 recorded']);
});

test('done with its key, or not at all', async () => {
  for (const [sql, act, type] of [
    [UNFINISHED, (admin, of) => admin.retryNow(seen(of), 'eve'), 'retry'],
    [UNFINISHED, (admin, of) => admin.release(seen(of), 'eve'), 'released'],
    ['fencing_token = 1', (admin, of) => admin.forget(seen(of), 'eve'), 'forgotten'],
    ['fencing_token = 1, needs_attention = true', (admin, of) => admin.acknowledge(seen(of), 'eve'), 'acknowledged'],
    [
      'fencing_token = 1',
      async (admin, of) => {
        const { forgotten } = await admin.erasePrincipal({ ...ANN }, 'eve');
        return `${forgotten > 0} ${of.length > 0}`;
      },
      'forgotten',
    ],
  ] as [string, Parameters<typeof adminOperation>[0], string][]) {
    const key = await keyThat(sql);
    const before = await rowsOf(database.client, key);
    const failing = adminOperation(act, true);
    await failing.operation.execute({ key: freshKey(), payload: { key }, scope: ADMIN });
    expectCounted(await rowsOf(database.client, key), type).toEqual(before);
    expect(await recordsOf(key), type).toEqual([]);
    expect(failing.said, type).toEqual([]);
    const { operation } = adminOperation(act);
    expect(await operation.execute({ key: freshKey(), payload: { key }, scope: ADMIN })).toMatchObject({ ok: true });
    expect(await recordsOf(key), type).toEqual([type]);
    expectCounted(await rowsOf(database.client, key), type).not.toEqual(before);
  }
});

test('a key is given up in it, once, and one that runs or has run is left alone', async () => {
  const { operation } = adminOperation((admin, of) => admin.fence(idOf(of), 'eve'));
  const fence = async (key: string, actKey: string) => {
    const outcome = await operation.execute({ key: actKey, payload: { key }, scope: ADMIN });
    return outcome.ok && outcome.data;
  };
  const [fresh, actKey] = [freshKey(), freshKey()];
  expect([await fence(fresh, actKey), await fence(fresh, actKey)]).toEqual(['recorded', 'recorded']);
  expect(await fence(fresh, freshKey())).toBe('changed');
  expect(await fence(await keyThat('fencing_token = 1'), freshKey())).toBe('refused');
  expect(await recordsOf(fresh)).toEqual(['fenced']);
});
