import { type ChildProcess, spawn } from 'node:child_process';
import { createInterface } from 'node:readline';
import { fileURLToPath } from 'node:url';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { expectCounted } from '../../scripts/testing/expect-counted.ts';
import { type TestDatabase, testDatabase } from '../../scripts/testing/test-database.ts';
import { createClient } from '../../shop/db.ts';
import { anything, effect, effects, freshKey, kit, rowsOf, stopping, watchOf } from './kit.fixture.ts';

let database: TestDatabase;
let second: TestDatabase['client'];
let watch: Awaited<ReturnType<typeof watchOf>>;
const children = new Set<ChildProcess>();
beforeAll(async () => {
  database = await testDatabase();
  second = createClient(database.url);
  watch = await watchOf(database.url);
});
afterAll(async () => {
  for (const child of children) child.kill('SIGKILL');
  await watch?.close();
  await second?.$disconnect();
  await database?.drop();
});

/** Two engines that share nothing but the database; the first one's execution stops until it is told how to end. */
function twoProcesses(options: Parameters<typeof kit>[1] = {}) {
  const held = stopping();
  const define = (client: TestDatabase['client']) =>
    kit(client, options)
      .operation({ name: 'checkout', schema: anything, timeoutMs: 20_000 })
      .handler(held.handle as never);
  return { ...held, one: define(database.client), two: define(second) };
}

describe('C3 duplicates in two processes', () => {
  test('C1 of 50 calls one executes; each of the others is an equal replay or in_flight', async () => {
    const key = freshKey();
    let runs = 0;
    const define = (client: TestDatabase['client']) =>
      kit(client)
        .operation({ name: 'checkout', schema: anything })
        .handler(async ({ tx }) => {
          await effect(tx, key);
          return { run: ++runs };
        });
    const [one, two] = [define(database.client), define(second)];
    const calls = Array.from({ length: 50 }, (_, i) => (i % 2 ? one : two).execute({ key, payload: {} }));
    const outcomes = await Promise.all(calls);
    expect(outcomes.filter((outcome) => outcome.ok && !outcome.replayed)).toHaveLength(1);
    for (const outcome of outcomes) {
      if (outcome.ok) expect(outcome.data).toEqual({ run: 1 });
      else expect(outcome).toMatchObject({ code: 'in_flight', executed: 'unknown' });
    }
    expectCounted([runs, await effects(second, key)]).toEqual([1, 1]);
  });

  test.each([
    ['commits, the waiting one replays', 'commit', { replayed: true, data: { run: 1 } }, 1],
    ['rolls back, the waiting one executes', 'roll back', { replayed: false, data: { run: 2 } }, 2],
  ] as const)('C3 when the winner %s', async (_, how, answer, times) => {
    const { one, two, started, end, runs } = twoProcesses();
    const key = freshKey();
    const winning = one.execute({ key, payload: {} });
    await started.opened;
    const losing = two.execute({ key, payload: {} });
    await watch.untilWaiting(1);
    end.open(how);
    await winning;
    expect(await losing).toMatchObject({ ok: true, ...answer });
    expectCounted([runs(), await effects(second, key)]).toEqual([times, 1]);
  });

  test('C3 waitMs bounds the wait, 0 is never, and neither leaves a connection waiting', async () => {
    // Longer than the winner has: who waited so long would be told of its end.
    const { one, two, started, end, runs } = twoProcesses({ waitMs: 60_000 });
    const key = freshKey();
    const winning = one.execute({ key, payload: {} });
    await started.opened;
    for (const limits of [{ waitMs: 0 }, { waitMs: 60 }, { deadlineMs: 400 }]) {
      const begun = performance.now();
      const call = () => two.execute({ key, payload: {}, ...limits });
      // Again where its time was up on the way to the database.
      await ('deadlineMs' in limits ? expect.poll(call) : expect(await call())).toMatchObject({
        code: 'in_flight',
        executed: 'unknown',
        retry: 'same-key',
        retryAfterMs: expect.any(Number),
      });
      expect(performance.now() - begun).toBeGreaterThanOrEqual('waitMs' in limits ? (limits.waitMs ?? 0) : 0);
      // Where the time itself ran out, Prisma rolls back behind its answer.
      await expect.poll(async () => [await watch.waiting(), await watch.inTransaction()]).toEqual([0, 1]);
    }
    end.open('commit');
    await winning;
    expect(runs()).toBe(1);
  });

  test('O4 another payload: in_flight after waitMs, payload_mismatch when the commit comes within it', async () => {
    const { one, two, started, end, runs } = twoProcesses();
    const key = freshKey();
    const winning = one.execute({ key, payload: { a: 1 } });
    await started.opened;
    expect(await two.execute({ key, payload: { a: 2 }, waitMs: 30 })).toMatchObject({ code: 'in_flight' });
    const patient = two.execute({ key, payload: { a: 2 } });
    await watch.untilWaiting(1);
    end.open('commit');
    expect(await patient).toMatchObject({ code: 'payload_mismatch', executed: true, retry: 'never' });
    await winning;
    expect(runs()).toBe(1);
  });

  test('C5 of ten keys held elsewhere at most a fifth of the pool waits; other keys go on', async () => {
    const held = Array.from({ length: 10 }, () => ({ key: freshKey(), ...twoProcesses() }));
    const winners = createClient(database.url, { max: 12 });
    const winning = held.map(({ key, handle }) =>
      kit(winners)
        .operation({ name: 'checkout', schema: anything, timeoutMs: 20_000 })
        .handler(handle as never)
        .execute({ key, payload: {} }),
    );
    await Promise.all(held.map(({ started }) => started.opened));
    const engine = kit(second);
    const checkout = engine.operation({ name: 'checkout', schema: anything }).handler(async () => 'never');
    const settled: unknown[] = [];
    const losing = held.flatMap(({ key }) =>
      [1, 2].map(() =>
        checkout.execute({ key, payload: {} }).then((outcome) => {
          settled.push(outcome);
          return outcome;
        }),
      ),
    );
    await watch.untilWaiting(2);
    const other = engine.operation({ name: 'other', schema: anything }).handler(async () => 'other');
    for (let i = 0; i < 20; i++)
      expect(await other.execute({ key: freshKey(), payload: {}, waitMs: 0 })).toMatchObject({ ok: true });
    await expect.poll(() => settled.length).toBeGreaterThanOrEqual(16);
    expect(await watch.waiting()).toBe(2);
    for (const outcome of settled) expect(outcome).toMatchObject({ code: 'in_flight' });
    for (const { end } of held) end.open('commit');
    await Promise.all([...winning, ...losing]);
    await winners.$disconnect();
  });
});

describe('C3 a real second process', () => {
  /** Runs `processes.child.ts`, which stops in its handler until it gets a line. */
  function child(key: string) {
    const file = fileURLToPath(new URL('./processes.child.ts', import.meta.url));
    const process_ = spawn(process.execPath, ['--import', 'tsx', file, database.url, key], {
      stdio: ['pipe', 'pipe', 'inherit'],
    });
    children.add(process_);
    const lines = createInterface({ input: process_.stdout })[Symbol.asyncIterator]();
    return { process: process_, line: async () => JSON.parse((await lines.next()).value ?? 'null') };
  }
  const here = (key: string) =>
    kit(database.client)
      .operation({ name: 'checkout', schema: anything })
      .handler(async ({ tx }) => {
        await effect(tx, key);
        return 'here';
      });

  test('C1 its execution is waited for, and replayed here', async () => {
    const key = freshKey();
    const there = child(key);
    expect(await there.line()).toBe('claimed');
    const waiting = here(key).execute({ key, payload: {} });
    await watch.untilWaiting(1);
    there.process.stdin.write('go\n');
    expect(await there.line()).toMatchObject({ ok: true, replayed: false, data: 'there' });
    expect(await waiting).toMatchObject({ ok: true, replayed: true, data: 'there' });
    expectCounted(await effects(second, key)).toBe(1);
  });

  test('S1 killed in its handler it leaves nothing, and the call here executes', async () => {
    const key = freshKey();
    const there = child(key);
    expect(await there.line()).toBe('claimed');
    const waiting = here(key).execute({ key, payload: {} });
    await watch.untilWaiting(1);
    there.process.kill('SIGKILL');
    expect(await waiting).toMatchObject({ ok: true, replayed: false, data: 'here' });
    expectCounted([await effects(second, key), (await rowsOf(second, key)).length]).toEqual([1, 1]);
  });
});
