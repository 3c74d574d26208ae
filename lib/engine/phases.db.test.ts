import { afterAll, beforeAll, beforeEach, describe, expect, test } from 'vitest';
import { type TestDatabase, testDatabase } from '../demo/test-database.ts';
import type { ForeignCall, Options } from '../index.ts';
import { prismaStore } from '../store/prisma/store.ts';
import { anything, effect, effects, freshKey, gate, kit, rowsOf, told } from './engine.testsuite.ts';
import { Provider } from './phases.testsuite.ts';

let database: TestDatabase;
let provider: Provider;
beforeAll(async () => {
  database = await testDatabase();
});
afterAll(() => database?.drop());
beforeEach(async () => {
  provider = new Provider();
  // What earlier tests have left unfinished is none of this one's business.
  await database.client.$executeRaw`UPDATE idempotency_keys SET next_attempt_at = NULL`;
});

type Call = ForeignCall<{ amount: number; order: string }, { id: string }>;

/** A checkout: an order, a charge, and the end. */
function shop(options: Partial<Options> = {}, how: Partial<Call> = {}, more: { maxAttempts?: number } = {}) {
  const idempotency = kit(database.client, options);
  const checkout = idempotency
    .operation({
      name: 'pay',
      schema: anything,
      ...more,
      onRefused: async (tx, { key, reason }) => effect(tx, `${key}:undone:${reason}`),
    })
    .phases(async ({ atomic, foreign, capture, key }) => {
      const order = await capture('order_id', () => `order-of-${key}`);
      await atomic('order_created', async (tx) => effect(tx, `${key}:order`));
      const { id } = await foreign('charge_created', provider.call(order, how));
      await atomic('finished', async (tx) => effect(tx, `${key}:finished`));
      return { order, charge: id };
    });
  return { idempotency, checkout };
}

const stepsOf = (key: string) =>
  database.client.idempotencyPhase.findMany({ where: { key }, orderBy: { position: 'asc' } });
const rowOf = async (key: string) => (await rowsOf(database.client, key))[0];
/** The lease is over, and whatever pause was asked for. */
const expire = (key: string) =>
  database.client.$executeRaw`UPDATE idempotency_keys
    SET lease_until = CASE state WHEN 'in_progress' THEN now() - interval '1 s' END, next_attempt_at = now() - interval '1 s'
    WHERE key = ${key}`;

async function expectOnce(key: string): Promise<void> {
  expect(await effects(database.client, `${key}:order`)).toBe(1);
  expect(await effects(database.client, `${key}:finished`)).toBe(1);
  expect(provider.count(`order-of-${key}`)).toBe(1);
}

describe('an operation in phases', () => {
  test('does each step once, settles, and replays', async () => {
    const { checkout } = shop();
    const key = freshKey();
    const first = await checkout.execute({ key, payload: { n: 1 } });
    expect(first).toMatchObject({ ok: true, replayed: false, data: { order: `order-of-${key}`, charge: 'ch_1' } });
    const second = await checkout.execute({ key, payload: { n: 1 } });
    expect(second).toMatchObject({ ok: true, replayed: true, data: { order: `order-of-${key}`, charge: 'ch_1' } });
    await expectOnce(key);
    expect(await rowOf(key)).toMatchObject({
      state: 'succeeded',
      recoveryPoint: 'finished',
      input: null,
      leaseUntil: null,
      nextAttemptAt: null,
      attempts: 1,
    });
    const steps = await stepsOf(key);
    expect(steps.map(({ name, kind, state }) => [name, kind, state])).toEqual([
      ['order_id', 'capture', 'done'],
      ['order_created', 'atomic', 'done'],
      ['charge_created', 'foreign', 'done'],
      ['finished', 'atomic', 'done'],
    ]);
    expect(steps.every(({ result, arguments: stored }) => result === null && stored === null)).toBe(true);
  });

  test('another payload under the key is a mismatch, also while it runs', async () => {
    const { checkout } = shop();
    const key = freshKey();
    const charging = gate();
    const go = gate();
    provider.onCharge = async () => {
      charging.open();
      await go.opened;
    };
    const first = checkout.execute({ key, payload: { n: 1 } });
    await charging.opened;
    const elsewhere = shop();
    expect(told(await elsewhere.checkout.execute({ key, payload: { n: 2 } }))).toMatchObject({
      code: 'payload_mismatch',
    });
    expect(told(await elsewhere.checkout.execute({ key, payload: { n: 1 } }))).toMatchObject({ code: 'in_flight' });
    go.open();
    expect(await first).toMatchObject({ ok: true });
    await expectOnce(key);
  });

  test('what a step throws leaves the key resumable, and a retry goes on behind the finished ones', async () => {
    const key = freshKey();
    let runs = 0;
    const pay = kit(database.client)
      .operation({ name: 'pay', schema: anything })
      .phases(async ({ atomic }) => {
        await atomic('order_created', async (tx) => effect(tx, `${key}:order`));
        await atomic('finished', async (tx) => {
          await effect(tx, `${key}:finished`);
          if (++runs === 1) throw new Error('no luck');
        });
      });
    const first = await pay.execute({ key, payload: {} });
    expect(first).toMatchObject({ ok: false, code: 'internal', executed: 'unknown', retry: 'same-key' });
    expect(await rowOf(key)).toMatchObject({ state: 'in_progress', recoveryPoint: 'order_created' });
    expect(await effects(database.client, `${key}:finished`)).toBe(0);
    expect(await pay.execute({ key, payload: {}, attempt: 2 })).toMatchObject({ ok: true, replayed: false });
    expect(await effects(database.client, `${key}:order`)).toBe(1);
    expect(await effects(database.client, `${key}:finished`)).toBe(1);
  });

  test('P1 a renamed, reordered or vanished step is refused', async () => {
    const key = freshKey();
    const begun = (names: string[], fails: boolean) =>
      kit(database.client)
        .operation({ name: 'pay', schema: anything })
        .phases(async ({ atomic }) => {
          for (const name of names) await atomic(name, async () => name);
          if (fails) throw new Error('stop');
        })
        .execute({ key, payload: {} });
    await begun(['a', 'b'], true);
    for (const names of [['a', 'c'], ['b', 'a'], ['a']]) {
      expect(await begun(names, false)).toMatchObject({ code: 'phase_mismatch', retry: 'never', executed: 'unknown' });
    }
    expect(await begun(['a', 'b', 'd'], false)).toMatchObject({ ok: true });
  });

  test('steps run one at a time, under names of their own', async () => {
    const thrown: unknown[] = [];
    const idempotency = kit(database.client, { onError: (error) => void thrown.push(error) });
    const attempt = async (run: Parameters<ReturnType<typeof idempotency.operation>['phases']>[0]) => {
      thrown.length = 0;
      await idempotency
        .operation({ name: 'pay', schema: anything })
        .phases(run)
        .execute({ key: freshKey(), payload: {} });
      return (thrown[0] as Error)?.message;
    };
    expect(
      await attempt(({ atomic }) => Promise.all([atomic('a', async () => 1), atomic('b', async () => 2)])),
    ).toMatch('One at a time');
    expect(await attempt(({ atomic, capture }) => atomic('a', () => capture('b', () => 1)))).toMatch('inside a');
    expect(
      await attempt(async ({ atomic }) => {
        await atomic('a', async () => 1);
        await atomic('a', async () => 2);
      }),
    ).toMatch('Two steps are called a');
  });

  test('fail inside a phase commits what it wrote, with the refusal and onRefused', async () => {
    const key = freshKey();
    const pay = kit(database.client)
      .operation({
        name: 'pay',
        schema: anything,
        onRefused: (tx, refused) => effect(tx, `${refused.key}:undone:${refused.reason}`),
      })
      .phases(async ({ atomic, fail }) => {
        await atomic('order_created', (tx) => effect(tx, `${key}:order`));
        await atomic('finished', async (tx) => {
          await effect(tx, `${key}:written`);
          return fail('sold_out', { left: 0 }, { status: 409 });
        });
      });
    const refused = { ok: false, code: 'failed', reason: 'sold_out', data: { left: 0 }, executed: true };
    expect(await pay.execute({ key, payload: {} })).toMatchObject(refused);
    expect(await pay.execute({ key, payload: {} })).toMatchObject({ ...refused, replayed: true });
    for (const what of ['order', 'written', 'undone:sold_out']) {
      expect(await effects(database.client, `${key}:${what}`)).toBe(1);
    }
    expect(await rowOf(key)).toMatchObject({ state: 'failed', input: null });
  });

  test('a file in the input is refused before anything is claimed', async () => {
    const { checkout } = shop();
    const key = freshKey();
    await expect(checkout.execute({ key, payload: { file: new Blob(['x']) } })).resolves.toMatchObject({ ok: false });
    expect(await rowOf(key)).toBeUndefined();
  });
});

describe('a foreign call', () => {
  test('is sent again under the same key when its answer is lost: one charge', async () => {
    const { checkout } = shop();
    const key = freshKey();
    provider.faults = ['after', 'before'];
    expect(await checkout.execute({ key, payload: {} })).toMatchObject({ ok: true, data: { charge: 'ch_1' } });
    expect(provider.sends).toBe(3);
    await expectOnce(key);
  });

  test('a declared terminal error is a stored refusal', async () => {
    const { checkout } = shop();
    const key = freshKey();
    provider.faults = ['declined'];
    const refused = { code: 'failed', reason: 'card_declined', data: { code: 'generic' }, executed: true };
    expect(await checkout.execute({ key, payload: {} })).toMatchObject(refused);
    expect(await checkout.execute({ key, payload: {} })).toMatchObject({ ...refused, replayed: true });
    expect(provider.sends).toBe(1);
    expect(await effects(database.client, `${key}:undone:card_declined`)).toBe(1);
  });

  test('a catch around it turns no lost answer into an answer', async () => {
    const key = freshKey();
    provider.faults = ['after', 'after', 'after', 'after'];
    const pay = kit(database.client)
      .operation({ name: 'pay', schema: anything })
      .phases(async ({ foreign, fail }) => {
        try {
          return await foreign('charge_created', provider.call(key));
        } catch {
          return fail('gave_up');
        }
      });
    expect(await pay.execute({ key, payload: {} })).toMatchObject({ code: 'unavailable', executed: 'unknown' });
    expect(await rowOf(key)).toMatchObject({ state: 'in_progress' });
    expect(await pay.execute({ key, payload: {}, attempt: 2 })).toMatchObject({ ok: true });
    expect(provider.count(key)).toBe(1);
  });

  test('what cannot be told by a send is looked up: one charge, not sent again', async () => {
    const { checkout } = shop({}, { lookup: async ({ order }) => provider.find(order) });
    const key = freshKey();
    provider.faults = ['after', 'replayed'];
    expect(await checkout.execute({ key, payload: {} })).toMatchObject({ ok: true });
    expect([provider.sends, provider.lookups]).toEqual([2, 1]);
    await expectOnce(key);
  });

  test('past the provider’s memory it is looked up, not sent', async () => {
    const { checkout, idempotency } = shop({}, { lookup: async ({ order }) => provider.find(order), maxTries: 1 });
    const key = freshKey();
    provider.faults = ['after'];
    expect(await checkout.execute({ key, payload: {} })).toMatchObject({ code: 'unavailable' });
    await database.client.$executeRaw`UPDATE idempotency_phases
      SET first_sent_at = first_sent_at - interval '23 h', last_sent_at = last_sent_at - interval '23 h' WHERE key = ${key}`;
    await expire(key);
    expect(await idempotency.completeDue({ limit: 100 })).toMatchObject({ settled: 1 });
    expect([provider.sends, provider.lookups]).toEqual([1, 1]);
    await expectOnce(key);
  });

  test('S4 without keys and without look-up it becomes unknown, and waits for a person', async () => {
    provider.honoursKeys = false;
    const { checkout, idempotency } = shop(
      {},
      { indeterminate: 'unknown', providerKeyTtlMs: 0, fromReference: async (id) => ({ id }) },
    );
    const key = freshKey();
    provider.faults = ['after'];
    expect(await checkout.execute({ key, payload: {} })).toMatchObject({
      code: 'outcome_unknown',
      executed: 'unknown',
    });
    expect(await rowOf(key)).toMatchObject({ state: 'unknown', needsAttention: true, nextAttemptAt: null });
    expect(await idempotency.completeDue({ limit: 100 })).toMatchObject({ taken: 0 });
    expect(await checkout.execute({ key, payload: {} })).toMatchObject({ code: 'outcome_unknown' });
    expect(provider.sends).toBe(1);
  });

  test('S4 an unknown outcome is asked about until it is known, and then the rest runs', async () => {
    provider.honoursKeys = false;
    const how = { indeterminate: 'lookup' as const, providerKeyTtlMs: 0, maxTries: 1 };
    const { checkout, idempotency } = shop({}, { ...how, lookup: async ({ order }) => provider.find(order) });
    const key = freshKey();
    provider.faults = ['after'];
    provider.says = 'pending';
    expect(await checkout.execute({ key, payload: {} })).toMatchObject({ code: 'outcome_unknown' });
    await expire(key);
    expect(await idempotency.completeDue({ limit: 100 })).toMatchObject({ taken: 1, unknown: 1 });
    provider.says = undefined;
    await expire(key);
    expect(await idempotency.completeDue({ limit: 100 })).toMatchObject({ taken: 1, settled: 1 });
    expect(provider.sends).toBe(1);
    await expectOnce(key);
    expect(await rowOf(key)).toMatchObject({ state: 'succeeded', fencingToken: 2 });
  });

  test('P3 after a takeover, "absent" from a provider without keys is never sent again', async () => {
    provider.honoursKeys = false;
    const how = { indeterminate: 'lookup' as const, providerKeyTtlMs: 0 };
    const { checkout, idempotency } = shop({}, { ...how, lookup: async ({ order }) => provider.find(order) });
    const key = freshKey();
    const stop = gate();
    provider.onCharge = () => stop.opened; // sent, not answered
    const first = checkout.execute({ key, payload: {} });
    while (provider.sends === 0) await new Promise(setImmediate);
    provider.says = 'absent';
    await expire(key);
    expect(await idempotency.completeDue({ limit: 100 })).toMatchObject({ taken: 1, unknown: 1 });
    expect(provider.sends).toBe(1);
    // The late answer of the first executor is not lost: the key is due, and the truth is found.
    stop.open();
    provider.says = undefined;
    expect(await first).toMatchObject({ code: 'outcome_unknown' });
    expect(await idempotency.completeDue({ limit: 100 })).toMatchObject({ taken: 1, settled: 1 });
    await expectOnce(key);
  });
});

describe('a lease', () => {
  test('S3 an executor that was overtaken changes nothing, and the charge is one', async () => {
    const lost: unknown[] = [];
    const { checkout } = shop({ onError: (error) => void lost.push((error as Error).name) });
    const key = freshKey();
    const charging = gate();
    const go = gate();
    provider.onCharge = async () => {
      provider.onCharge = () => {};
      charging.open();
      await go.opened;
    };
    const slow = checkout.execute({ key, payload: {} });
    await charging.opened;
    await expire(key);
    const elsewhere = shop();
    expect(await elsewhere.checkout.execute({ key, payload: {}, attempt: 2 })).toMatchObject({ ok: true });
    go.open();
    // It finds the other's answer; nothing of its own was written.
    expect(await slow).toMatchObject({ ok: true, replayed: true });
    expect(lost).toEqual(['LeaseLostError']);
    await expectOnce(key);
    // A client that retries does not use up what the completer is given.
    expect(await rowOf(key)).toMatchObject({ fencingToken: 2, attempts: 1 });
  });

  test('is renewed while its executor lives', async () => {
    const { checkout, idempotency } = shop({ leaseMs: 300 });
    const key = freshKey();
    const go = gate();
    const charging = gate();
    provider.onCharge = async () => {
      charging.open();
      await go.opened;
    };
    const slow = checkout.execute({ key, payload: {} });
    await charging.opened;
    const until = (await rowOf(key))?.leaseUntil?.getTime() ?? 0;
    while (((await rowOf(key))?.leaseUntil?.getTime() ?? 0) < until + 400);
    expect(await idempotency.completeDue({ limit: 100 })).toMatchObject({ taken: 0 });
    go.open();
    expect(await slow).toMatchObject({ ok: true });
  });

  test('of many completers one takes an abandoned key', async () => {
    const key = freshKey();
    const { checkout } = shop({}, { maxTries: 1 });
    provider.faults = ['after'];
    await checkout.execute({ key, payload: {} });
    await expire(key);
    const passes = await Promise.all(Array.from({ length: 6 }, () => shop().idempotency.completeDue({ limit: 100 })));
    expect(passes.reduce((sum, { taken }) => sum + taken, 0)).toBe(1);
    await expectOnce(key);
  });

  test('after too many attempts it waits for a person', async () => {
    const key = freshKey();
    const idempotency = kit(database.client);
    const pay = idempotency
      .operation({ name: 'pay', schema: anything, maxAttempts: 2 })
      .phases(({ atomic }) => atomic('a', () => Promise.reject(new Error('never'))));
    await pay.execute({ key, payload: {} });
    expect(await rowOf(key)).toMatchObject({ needsAttention: false });
    await expire(key);
    await idempotency.completeDue({ limit: 100 });
    expect(await rowOf(key)).toMatchObject({ state: 'in_progress', needsAttention: true, nextAttemptAt: null });
    expect(await idempotency.completeDue({ limit: 100 })).toMatchObject({ taken: 0 });
  });
});

test('S5 who asks for the status of a key that its executor has left drives it on', async () => {
  const key = freshKey();
  const { checkout } = shop({}, { maxTries: 1 });
  provider.faults = ['after'];
  await checkout.execute({ key, payload: {} });
  expect(await checkout.status({ key })).toMatchObject({ state: 'in_progress' }); // the pause is not over
  await expire(key);
  expect(await checkout.status({ key })).toMatchObject({ state: 'succeeded', outcome: { ok: true } });
  await expectOnce(key);
});

test('S5 a fence loses to a key in phases, and drives it on', async () => {
  const key = freshKey();
  const { checkout } = shop({}, { maxTries: 1 });
  provider.faults = ['before'];
  await checkout.execute({ key, payload: {} });
  await expire(key);
  expect(await checkout.fence({ key })).toMatchObject({ fenced: false, state: 'succeeded' });
  await expectOnce(key);
});

test('a completer that is told to stop lets go of the key before its next step, and another goes on', async () => {
  const key = freshKey();
  const { checkout, idempotency } = shop({}, { maxTries: 1 });
  provider.faults = ['before'];
  await checkout.execute({ key, payload: {} });
  await expire(key);
  const stopping = new AbortController();
  provider.onCharge = () => stopping.abort(new Error('the worker stops'));
  expect(await idempotency.completeDue({ limit: 100, signal: stopping.signal })).toMatchObject({ unfinished: 1 });
  expect(await effects(database.client, `${key}:finished`)).toBe(0);
  provider.onCharge = () => {};
  await expire(key);
  expect(await idempotency.completeDue({ limit: 100 })).toMatchObject({ settled: 1 });
  await expectOnce(key);
});

test('a step that threw ends the run, whatever the function makes of it', async () => {
  const key = freshKey();
  let runs = 0;
  const pay = kit(database.client)
    .operation({ name: 'pay', schema: anything })
    .phases(async ({ atomic, fail }) => {
      await atomic('a', async () => {
        if (++runs === 1) throw new Error('no luck');
      }).catch(() => undefined);
      if (runs === 1) fail('gave_up');
      return await atomic('b', async () => 'done');
    });
  expect(await pay.execute({ key, payload: {} })).toMatchObject({ code: 'internal' });
  expect(await pay.execute({ key, payload: {}, attempt: 2 })).toMatchObject({ ok: true, data: 'done' });
});

test('a function that waits for ever loses its time, and the key goes on without it', async () => {
  const key = freshKey();
  let runs = 0;
  const pay = kit(database.client)
    .operation({ name: 'pay', schema: anything, maxRunMs: 200 })
    .phases(async ({ atomic }) => {
      if (++runs === 1) await new Promise(() => {});
      return await atomic('a', async () => 'done');
    });
  expect(await pay.execute({ key, payload: {} })).toMatchObject({ code: 'unavailable', executed: 'unknown' });
  expect(await pay.execute({ key, payload: {}, attempt: 2 })).toMatchObject({ ok: true });
});

test('a key whose every run kills its process waits for a person in the end', async () => {
  const key = freshKey();
  const { checkout, idempotency } = shop({}, { maxTries: 1 }, { maxAttempts: 3 });
  provider.faults = ['before'];
  await checkout.execute({ key, payload: {} });
  await database.client.$executeRaw`UPDATE idempotency_keys SET attempts = 3 WHERE key = ${key}`;
  await expire(key);
  await idempotency.completeDue({ limit: 100 });
  expect(provider.sends).toBe(1);
  expect(await rowOf(key)).toMatchObject({ state: 'unknown', needsAttention: true });
});

test('a mistyped reference can be given again', async () => {
  provider.honoursKeys = false;
  const how: Partial<Call> = {
    indeterminate: 'unknown',
    providerKeyTtlMs: 0,
    fromReference: async (id) => {
      if (id !== 'ch_1') throw new Error('no such charge');
      return { id };
    },
  };
  const { checkout, idempotency } = shop({}, how);
  const key = freshKey();
  provider.faults = ['after'];
  await checkout.execute({ key, payload: {} });
  const see = async () => {
    const row = await rowOf(key);
    if (!row) throw new Error('There is no key.');
    return row;
  };
  type Seen = Awaited<ReturnType<typeof see>>;
  const store = prismaStore(database.client);
  const judge = (row: Seen, reference: string) => store.recordVerdict(row, { kind: 'succeeded', reference }, 'ann');
  const first = await see();
  // Two persons at once: one verdict counts, and the other is told that the key has changed.
  const both = await Promise.all([judge(first, 'ch_x'), judge(first, 'ch_y')]);
  expect(both.toSorted()).toEqual([false, true]);
  expect(await idempotency.completeDue({ limit: 100 })).toMatchObject({ taken: 1, settled: 0 });
  expect(await judge(first, 'ch_1')).toBe(false);
  expect(await judge(await see(), 'ch_1')).toBe(true);
  expect(await idempotency.completeDue({ limit: 100 })).toMatchObject({ settled: 1 });
  expect(await judge(await see(), 'ch_1')).toBe(false);
  await expectOnce(key);
  expect(await checkout.execute({ key, payload: {} })).toMatchObject({ ok: true, data: { charge: 'ch_1' } });
});

test('what a person vouched for covers one send: a look-up that lags behind it is no reason for a second', async () => {
  provider.honoursKeys = false;
  const how = { indeterminate: 'lookup' as const, providerKeyTtlMs: 0, settleMs: 60_000 };
  const { checkout, idempotency } = shop({}, { ...how, lookup: async ({ order }) => provider.find(order) });
  const key = freshKey();
  provider.faults = ['before', 'after'];
  provider.says = 'absent';
  expect(await checkout.execute({ key, payload: {} })).toMatchObject({ code: 'outcome_unknown' });
  const row = await rowOf(key);
  if (!row) throw new Error('There is no key.');
  expect(await prismaStore(database.client).recordVerdict(row, { kind: 'retry' }, 'ann')).toBe(true);
  expect(await idempotency.completeDue({ limit: 100 })).toMatchObject({ unknown: 1 });
  expect(provider.count(`order-of-${key}`)).toBe(1);
});

test('a step that is not awaited settles nothing', async () => {
  const key = freshKey();
  const go = gate();
  provider.onCharge = () => go.opened;
  const pay = kit(database.client)
    .operation({ name: 'pay', schema: anything })
    .phases(async ({ foreign }) => {
      foreign('charge_created', provider.call(key)).catch(() => {});
      return 'done';
    });
  expect(await pay.execute({ key, payload: {} })).toMatchObject({ ok: false, code: 'internal' });
  expect(await rowOf(key)).toMatchObject({ state: 'in_progress' });
  go.open();
});

test('R3 the version of a result is that of the executor that finished the key', async () => {
  const key = freshKey();
  const version = (schemaVersion: number, result: () => Promise<unknown>) =>
    kit(database.client)
      .operation({ name: 'pay', schema: anything, schemaVersion, upcasts: { 1: () => 'led up' } })
      .phases(({ atomic }) => atomic('a', result));
  await version(1, () => Promise.reject(new Error('not yet'))).execute({ key, payload: {} });
  const newer = version(2, async () => 'of version 2');
  expect(await newer.execute({ key, payload: {}, attempt: 2 })).toMatchObject({ ok: true, data: 'of version 2' });
  expect(await newer.execute({ key, payload: {} })).toMatchObject({ data: 'of version 2', replayed: true });
});
