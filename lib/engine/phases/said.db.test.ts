import { describe, expect, test } from 'vitest';
import { ADVICE, type Code } from '../../core/codes.ts';
import type { Outcome } from '../../core/outcome.ts';
import { anything, BOB, effect, freshKey, gate, kit, rowsOf, type Tx } from '../../integration/kit.fixture.ts';
import type { Step } from '../../store/leases.ts';
import { prismaStore } from '../../store/prisma/store.ts';
import type { Defer, Fail } from '../handler.ts';
import type { PhasesContext } from './context.ts';
import { Journal } from './journal.ts';
import type { Provider } from './phases.fixture.ts';
import { database, expire, provider, rowOf, seenCall, shop, stepsOf, usePhases } from './shop.fixture.ts';

usePhases();

const TOO_LARGE = 'x'.repeat(300_000);
/** Words that say of the whole key that nothing came of it. */
const NOTHING = /nothing was (?!done just now)|was rolled back/i;

type Context = PhasesContext<Record<string, unknown>, Tx>;

type Way = 'plain' | 'phased';

interface How {
  kit?: Parameters<typeof kit>[1];
  /** In phases: no charge stands before it. */
  isBefore?: boolean;
  options?: object;
  body?: (fail: Fail, defer: Defer, tx: Tx) => unknown;
}

/** Each call makes an engine of its own. The effect is written under the key; in phases a charge stands before it. */
function operationOf(
  way: Way,
  { kit: options = {}, options: more = {}, body = () => 'done', isBefore = false }: How = {},
) {
  const operation = kit(database.client, options).operation({ name: 'pay', schema: anything, ...more });
  if (way === 'plain') {
    return operation.handler(async ({ tx, key, fail, defer }) => {
      await effect(tx, key);
      return (await body(fail, defer, tx)) as string;
    });
  }
  return operation.phases(async ({ foreign, atomic, key, fail, defer }) => {
    if (!isBefore) await foreign('charge', provider.call(key));
    return (await atomic('paid', async (tx) => {
      await effect(tx, key);
      return await body(fail, defer, tx);
    })) as string;
  });
}

/** Compares what is said of a key with its row, its effects and the provider's ledger, which is a new one for each test. */
async function expectTrue(told: Outcome<unknown>, key: string): Promise<void> {
  const [row] = await rowsOf(database.client, key);
  const [charges, isRefused] = [provider.charges.size, row?.state === 'failed'];
  const written = await database.client.auditRecord.count({ where: { action: { startsWith: key } } });
  const isSettled = row !== undefined && row.state !== 'in_progress' && row.state !== 'unknown';
  if (told.ok) return expect(row?.state).toBe('succeeded');
  const said = { written, charges, isSettled, ...told };
  // What a handler has written beside `fail` is the refusal's own.
  if (told.executed === false) expect(said).toMatchObject({ charges: 0, written: isRefused ? written : 0 });
  if (told.executed === true) {
    expect(said).toMatchObject({ isSettled: true });
    expect(charges + written).toBeGreaterThan(0);
  }
  if (NOTHING.test(told.message) || NOTHING.test(ADVICE[told.code].detail))
    expect(said).toMatchObject({ charges: 0, written: 0 });
  // What ends the intent for a person is a row's word, or this attempt's alone (A2).
  if (told.retry === 'never' && told.code !== 'phase_mismatch') expect(isSettled || !row).toBe(true);
}

describe('a stored refusal says whether a foreign call of it was done', () => {
  test.each<[string, boolean | 'unknown', (context: Context) => Promise<unknown>]>([
    ['by the function, before any call', false, async ({ fail }) => fail('no')],
    ['in a step', false, ({ atomic, fail }) => atomic('step', async () => fail('no'))],
    [
      'by the provider',
      false,
      ({ foreign, key }) => {
        provider.faults = ['declined'];
        return foreign('charge', provider.call(key));
      },
    ],
    [
      'by the provider, which was asked about an earlier send and knows of none',
      false,
      ({ foreign, key }) => {
        provider.faults = ['before', 'declined'];
        return foreign('charge', provider.call(key, { lookup: async ({ order }) => provider.find(order) }));
      },
    ],
    [
      'behind a charge',
      true,
      async ({ foreign, key, fail }) => {
        await foreign('charge', provider.call(key));
        return fail('no');
      },
    ],
    [
      'behind a charge that was given back',
      true,
      async ({ foreign, key, fail }) => {
        await foreign('charge', provider.call(key));
        await foreign('refund', { ...provider.call(`${key}-refund`), compensates: 'charge' });
        return fail('no');
      },
    ],
  ])('%s: %j', async (_, executed, phases) => {
    const key = freshKey();
    // An engine of its own each, which remembers nothing.
    const pay = (payload: Record<string, unknown>) =>
      kit(database.client)
        .operation({ name: 'pay', schema: anything })
        .phases(phases as () => Promise<string>)
        .execute({ key, payload });
    const told = await pay({});
    expect(told).toMatchObject({ code: 'failed', executed });
    await expectTrue(told, key);
    expect(await pay({})).toMatchObject({ code: 'failed', executed, replayed: true });
    expect(await pay({ n: 2 })).toMatchObject({ code: 'payload_mismatch', executed });
    await database.client.$executeRaw`UPDATE idempotency_keys SET result = NULL WHERE key = ${key}`;
    expect(await pay({})).toMatchObject({ code: 'failed', executed: 'unknown' });
    expect(await pay({ n: 2 })).toMatchObject({ code: 'payload_mismatch', executed: 'unknown' });
  });

  test('in one transaction: false; of a row that does not say: true, as it was told before', async () => {
    const refused = () => operationOf('plain', { body: (fail) => fail('no') });
    const key = freshKey();
    const told = await refused().execute({ key, payload: {} });
    expect(told).toMatchObject({ code: 'failed', executed: false });
    await expectTrue(told, key);
    await database.client.$executeRaw`UPDATE idempotency_keys SET result = replace(result, 'executed', 'of_before')
      WHERE key = ${key}`;
    for (const payload of [{}, { n: 2 }]) {
      expect(await refused().execute({ key, payload })).toMatchObject({ ok: false, executed: true });
    }
  });

  const judge = async (key: string, kind: 'failed' | 'retry') =>
    expect(await prismaStore(database.client).recordVerdict(await seenCall(key), { kind }, 'ann')).toBe('recorded');
  /** A charge that was made, of which nobody knows, and that nobody can be asked about. */
  const doubtful = async (beforeRefused?: () => void) => {
    provider.honoursKeys = false;
    const { checkout, idempotency } = shop({}, { indeterminate: 'unknown', providerKeyTtlMs: 0 }, { beforeRefused });
    const key = freshKey();
    provider.faults = ['after'];
    await checkout.execute({ key, payload: {} });
    const run = async () => {
      await expire(key);
      return await idempotency.completeDue({ limit: 100 });
    };
    return { key, run, told: () => checkout.execute({ key, payload: {} }) };
  };

  test.each<[string, 'failed' | 'retry', Provider['faults'], number]>([
    ['that it failed', 'failed', [], 1],
    ['that it is to be sent again, which is declined', 'retry', ['declined'], 1],
    ['the same, and a run later', 'retry', ['refused', 'refused', 'refused', 'refused', 'declined'], 2],
  ])("by a person's word, which is no proof: unknown. %s", async (_, kind, faults, runs) => {
    const { key, run, told } = await doubtful();
    await judge(key, kind);
    provider.faults = faults;
    for (let n = 1; n < runs; n++) expect(await run()).toMatchObject({ unfinished: 1 });
    expect(await run()).toMatchObject({ settled: 1 });
    expect(await told()).toMatchObject({ code: 'failed', executed: 'unknown' });
    await expectTrue(await told(), key);
  });

  test('nor is it one where `onRefused` throws, and the next run finds the refusal, which is stored without a word of it', async () => {
    let left = 1;
    const { key, run, told } = await doubtful(() => {
      if (left-- > 0) throw new Error('no luck');
    });
    await judge(key, 'retry');
    provider.faults = ['declined'];
    expect(await run()).toMatchObject({ unfinished: 1 });
    // An older kit that takes it over stores it as it is, and then it says what it has always said.
    const [step] = (await stepsOf(key)).filter(({ name }) => name === 'charge_created');
    expect(step?.result).toContain('card_declined');
    expect(step?.result).not.toContain('executed');
    expect(await run()).toMatchObject({ settled: 1 });
    expect(await told()).toMatchObject({ code: 'failed', executed: 'unknown' });
  });

  test('of steps that a run has not come to', () => {
    const step = { name: 'charge', position: 1, kind: 'foreign', state: 'started', sends: 1, notExecuted: 0 } as Step;
    const executed = (stored: Partial<Step>) => new Journal([{ ...step, ...stored }]).executed;
    expect([executed({ state: 'done' }), executed({}), executed({ notExecuted: 1 })]).toEqual([true, 'unknown', false]);
  });
});

describe('behind a charge nothing is said to be undone, and the key goes on', () => {
  test.each<[string, (context: Context) => Promise<unknown>]>([
    [
      'a result that cannot be stored',
      ({ foreign, key }) =>
        foreign('charge', {
          ...provider.call(key),
          send: async (...sent) => ({ ...(await provider.call(key).send(...sent)), TOO_LARGE }),
        }),
    ],
    ['the last step', ({ atomic }) => atomic('paid', async () => TOO_LARGE)],
    ['what is returned', async () => TOO_LARGE],
    ['the data of a refusal', async ({ fail }) => fail('no', TOO_LARGE)],
    ['what is captured', ({ capture }) => capture('receipt', () => TOO_LARGE)],
  ])('%s is too large', async (what, behind) => {
    const errors: unknown[] = [];
    const idempotency = kit(database.client, { onError: (error) => void errors.push(error) });
    const pay = idempotency.operation({ name: 'pay', schema: anything }).phases(async (context) => {
      if (what !== 'a result that cannot be stored') await context.foreign('charge', provider.call(context.key));
      return (await behind(context as Context)) as string;
    });
    const key = freshKey();
    const told = await pay.execute({ key, payload: {} });
    expect(told).toMatchObject({ code: 'internal', retry: 'same-key', executed: 'unknown' });
    await expectTrue(told, key);
    expect(provider.count(key)).toBe(1);
    // By a worker, too, who says so and charges nobody again.
    await expire(key);
    expect(await idempotency.completeDue({ limit: 100 })).toMatchObject({ unfinished: 1 });
    expect(provider.count(key)).toBe(1);
    expect(await rowOf(key)).toMatchObject({ state: 'in_progress' });
    expect(errors).toMatchObject([{ name: 'ResultTooLargeError' }, { name: 'ResultTooLargeError' }]);
  });
});

/** What a way ends in, and the key that it is about. */
type Told = [Outcome<unknown>, string];

const call = async (operation: ReturnType<typeof operationOf>, request: object = {}): Promise<Told> => {
  const key = freshKey();
  return [await operation.execute({ key, payload: {}, ...request }), key];
};

/** The first call of the key as it is, and then another one. */
const twice = async (way: Way, first: How, second: How, request: object = {}): Promise<Told> => {
  const key = freshKey();
  await operationOf(way, first).execute({ key, payload: {} });
  return [await operationOf(way, second).execute({ key, payload: {}, ...request }), key];
};

const SECRET = { secret: 'Vq3-Jt0Lr8_Yd2Wc6Hn1Pz9Xs4Bk7Fe5' };
const NO = () => {
  throw new Error('no');
};

const mugAgain = (tx: Tx) =>
  tx.product.create({ data: { sku: 'mug', name: '', description: '', priceCents: 1, stock: 1 } });

/** Where each code comes from. Of `routes` none reaches a key: their words are looked at alone. */
const FROM: Record<Code, 'routes' | Partial<Record<Way, (way: Way) => Promise<Told>>>> = both({
  validation: (way) => call(operationOf(way, { options: { schema: anything.refine(() => false) } })),
  malformed_body: (way) => call(operationOf(way), { payload: { n: 2 ** 60 } }),
  unsupported_media_type: 'routes',
  payload_too_large: 'routes',
  key_missing: (way) => call(operationOf(way), { key: null }),
  key_malformed: (way) => call(operationOf(way), { key: 'a,b' }),
  key_invalid: (way) => call(operationOf(way, { kit: SECRET }), { acceptKeys: 'minted' }),
  key_expired: async (way) => {
    const old = operationOf(way, { kit: { ...SECRET, clock: () => Date.now() - 25 * 3_600_000 } });
    const key = (await old.mintKey()) as string;
    return [await operationOf(way, { kit: SECRET }).execute({ key, payload: {} }), key];
  },
  key_abandoned: async (way) => {
    const key = freshKey();
    await operationOf(way, { options: { acceptKeys: 'any' } }).fence({ key });
    return [await operationOf(way).execute({ key, payload: {} }), key];
  },
  unauthorized: (way) => call(operationOf(way, { kit: { scope: () => null } })),
  precondition_failed: 'routes',
  precondition_required: 'routes',
  not_found: 'routes',
  payload_mismatch: (way) => twice(way, {}, {}, { payload: { n: 2 } }),
  in_flight: async (way) => {
    const [started, end] = [gate(), gate()];
    const operation = operationOf(way, { body: async () => started.open() ?? (await end.opened) ?? 'done' });
    const key = freshKey();
    const first = operation.execute({ key, payload: {} });
    await started.opened;
    const told = await operationOf(way).execute({ key, payload: {}, waitMs: 0 });
    await expectTrue(told, key);
    end.open();
    await first;
    return [told, key];
  },
  already_done: async (way) => {
    const options = { oncePer: () => `a cart, ${way}` };
    const key = freshKey();
    await operationOf(way, { options }).execute({ key, payload: {} });
    return [await operationOf(way, { options, kit: { scope: () => BOB } }).execute({ key, payload: {} }), key];
  },
  outcome_unknown: {
    phased: async () => {
      provider.faults = ['after'];
      const { checkout } = shop({}, { indeterminate: 'unknown', providerKeyTtlMs: 0 });
      const key = freshKey();
      return [await checkout.execute({ key, payload: {} }), key];
    },
  },
  rate_limited: (way) => call(operationOf(way, { options: { admit: () => 1000 } })),
  failed: (way) => call(operationOf(way, { body: (fail) => fail('no') })),
  deferred: (way) => call(operationOf(way, { isBefore: true, body: (_, defer) => defer('busy') })),
  not_kept: { plain: (way) => call(operationOf(way, { options: { keep: () => false } })) },
  already_exists: (way) => call(operationOf(way, { isBefore: true, body: (_, __, tx) => mugAgain(tx) })),
  unavailable: {
    plain: (way) => call(operationOf(way), { signal: AbortSignal.abort() }),
    phased: async () => {
      provider.faults = ['after', 'before'];
      const { checkout } = shop({}, { maxTries: 2 });
      const key = freshKey();
      return [await checkout.execute({ key, payload: {} }), key];
    },
  },
  phase_mismatch: {
    phased: async (way) => {
      const key = freshKey();
      await operationOf(way, { body: NO }).execute({ key, payload: {} });
      await expire(key);
      const other = kit(database.client)
        .operation({ name: 'pay', schema: anything })
        .phases(({ atomic }) => atomic('another', async () => 'done'));
      return [await other.execute({ key, payload: {}, attempt: 2 }), key];
    },
  },
  result_unreadable: (way) => twice(way, { options: { schemaVersion: 1 } }, { options: { schemaVersion: 2 } }),
  result_too_large: { plain: (way) => call(operationOf(way, { body: () => TOO_LARGE })) },
  internal: (way) => call(operationOf(way, { body: NO })),
});

type Each = 'routes' | ((way: Way) => Promise<Told>) | Partial<Record<Way, (way: Way) => Promise<Told>>>;

function both(from: Record<Code, Each>): typeof FROM {
  const each = (how: Each) => (typeof how === 'function' ? { plain: how, phased: how } : how);
  return Object.fromEntries(Object.entries(from).map(([code, how]) => [code, each(how)])) as typeof FROM;
}

describe.each(Object.entries(FROM) as [Code, (typeof FROM)[Code]][])('what %s says is so', (code, from) => {
  if (from === 'routes') {
    test('of an earlier attempt it says nothing', () => {
      expect(ADVICE[code].message).not.toMatch(NOTHING);
      expect(ADVICE[code].detail).not.toMatch(NOTHING);
    });
    return;
  }
  test.each(Object.entries(from) as [Way, (way: Way) => Promise<Told>][])('%s', async (way, tell) => {
    const [told, key] = await tell(way);
    expect(told).toMatchObject({ ok: false, code });
    await expectTrue(told, key);
  });
});
