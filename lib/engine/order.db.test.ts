import { afterAll, beforeAll, describe, expect, test, vi } from 'vitest';
import { z } from 'zod';
import { expectCounted } from '../../scripts/testing/expect-counted.ts';
import { type TestDatabase, testDatabase } from '../../scripts/testing/test-database.ts';
import { anything, effect, effects, freshKey, gate, HOUR, kit, rowsOf, SECRET } from '../integration/kit.fixture.ts';

let database: TestDatabase;
beforeAll(async () => {
  database = await testDatabase();
});
afterAll(() => database?.drop());

const order = z.object({ sku: z.string().min(1), quantity: z.coerce.number().int() });
const op = (more: object = {}, options: Parameters<typeof kit>[1] = {}) => {
  const handle = vi.fn(async ({ tx, key }) => {
    await effect(tx, key);
    return 'done';
  });
  const operation = kit(database.client, options)
    .operation({ name: 'checkout', schema: order, ...more })
    .handler(handle);
  return { ...operation, handle };
};
const GOOD = { sku: 'tea', quantity: '1' };
const BAD = { sku: '', quantity: '1' };
const loosely = (payload: object) => payload as never;

describe('O1 the order of checks', () => {
  test('O1 syntax comes before who, and who before the payload', async () => {
    const checkout = op({}, { scope: () => null });
    const code = async (key: string | undefined, payload: unknown) => {
      const outcome = await checkout.execute({ key, payload: payload as never });
      return outcome.ok ? 'ok' : outcome.code;
    };
    expect(await code(undefined, NaN)).toBe('key_missing');
    expect(await code('', NaN)).toBe('key_missing');
    expect(await code('a,b', NaN)).toBe('key_malformed');
    expect(await code('a', NaN)).toBe('unauthorized');
  });

  test('K6 a refusal of the key itself carries a fresh one, for whoever acts', async () => {
    const outcome = await op().execute({ key: 'a,b', payload: loosely(GOOD) });
    expect(outcome).toMatchObject({ code: 'key_malformed', retry: 'new-key', nextKey: expect.any(String) });
  });

  test('O1 a payload without a canonical form is refused before it is validated', async () => {
    const validated = vi.fn();
    const checkout = op({ schema: z.any().superRefine(validated) });
    for (const bad of [{ n: Infinity }, { n: 2 ** 53 }, { n: '\ud800' }]) {
      expect(await checkout.execute({ key: freshKey(), payload: loosely(bad), attempt: 1 })).toMatchObject({
        code: 'malformed_body',
        executed: false,
      });
    }
    expect(validated).not.toHaveBeenCalled();
  });

  test('O1 a failed validation consumes no key', async () => {
    const key = freshKey();
    const checkout = op();
    const form = new FormData();
    for (const [name, value] of Object.entries({ ...BAD, password: 'x' })) form.append(name, value);
    const refused = await checkout.execute({ key, payload: form, input: BAD, attempt: 1 });
    expect(refused).toMatchObject({
      code: 'validation',
      executed: false,
      retry: 'same-key',
      fieldErrors: { sku: [expect.any(String)] },
      values: { sku: '', quantity: '1' },
      key,
    });
    expect(refused).not.toHaveProperty('values.password');
    expectCounted(await rowsOf(database.client, key)).toEqual([]);
    expect(await checkout.execute({ key, payload: GOOD })).toMatchObject({ ok: true, replayed: false });
  });

  test('O1 the handler is given what the schema made of the input', async () => {
    const checkout = op();
    await checkout.execute({ key: freshKey(), payload: GOOD });
    expect(checkout.handle.mock.calls[0]?.[0]).toMatchObject({
      input: { sku: 'tea', quantity: 1 },
      scope: { tenant: 'acme', principal: 'ann', operation: 'checkout' },
    });
  });
});

describe('O2 a row decides', () => {
  test('O2 before validation: a stricter schema does not turn a retry into an error', async () => {
    const key = freshKey();
    await op().execute({ key, payload: GOOD });
    const stricter = op({ schema: order.extend({ email: z.email() }) });
    expect(await stricter.execute({ key, payload: loosely(GOOD) })).toMatchObject({
      ok: true,
      replayed: true,
      data: 'done',
    });
    expect(await stricter.execute({ key, payload: loosely(BAD) })).toMatchObject({ code: 'payload_mismatch' });
  });

  test('O2 whatever its state: a tombstone too', async () => {
    const key = freshKey();
    const checkout = op();
    await checkout.fence({ key });
    for (const payload of [GOOD, BAD]) {
      expect(await checkout.execute({ key, payload })).toMatchObject({
        code: 'key_abandoned',
        executed: false,
        retry: 'new-key',
      });
    }
    expect(checkout.handle).not.toHaveBeenCalled();
  });

  test.each([2, undefined])(
    'O2 without a row, a failed validation of attempt %j does not say that nothing ran',
    async (attempt) => {
      expect(await op().execute({ key: freshKey(), payload: BAD, attempt })).toMatchObject({
        code: 'validation',
        executed: 'unknown',
      });
    },
  );
});

describe('O3 admission', () => {
  test('O3 is asked for a new key, with the parsed input, and not for replays, mismatches or refused input', async () => {
    const key = freshKey();
    const admit = vi.fn(() => true as const);
    const checkout = op({ admit });
    expect(await checkout.execute({ key, payload: BAD })).toMatchObject({ code: 'validation' });
    expect(admit).not.toHaveBeenCalled();
    await checkout.execute({ key, payload: GOOD });
    await checkout.execute({ key, payload: GOOD });
    await checkout.execute({ key, payload: GOOD, attempt: 3 });
    await checkout.execute({ key, payload: { ...GOOD, sku: 'mug' } });
    expect(admit).toHaveBeenCalledExactlyOnceWith(
      expect.objectContaining({
        key,
        input: { sku: 'tea', quantity: 1 },
        scope: expect.objectContaining({ principal: 'ann' }),
      }),
    );
  });

  test('O3 it hears whether anybody may be called so, and where the caller is, as far as a header tells it', async () => {
    const admit = vi.fn((_: unknown) => true as const);
    const guest = { tenant: 'acme', principal: 'guest', isAnonymous: true };
    const from = (address: string) => () => new Headers({ 'X-Real-IP': address });
    const there = op({ admit }, { addressHeader: 'x-real-ip' });
    await there.execute({ key: freshKey(), payload: GOOD, headers: from('2001:db8:1:2::3'), scope: guest });
    await there.execute({ key: freshKey(), payload: GOOD });
    await op({ admit }).execute({ key: freshKey(), payload: GOOD, headers: from('192.0.2.1') });
    expect(admit.mock.calls.map(([asked]) => asked)).toMatchObject([
      { isAnonymous: true, address: '2001:db8:1:2::/64' },
      { isAnonymous: false, address: undefined },
      { isAnonymous: false, address: undefined },
    ]);
  });

  test('O3 who is not admitted is told when to come back, and the key stays usable', async () => {
    const key = freshKey();
    const admit = vi.fn<() => true | number>(() => true).mockReturnValueOnce(1500);
    const checkout = op({ admit });
    expect(await checkout.execute({ key, payload: GOOD, attempt: 1 })).toMatchObject({
      code: 'rate_limited',
      retryAfterMs: 1500,
      executed: false,
      retry: 'same-key',
    });
    expectCounted(await rowsOf(database.client, key)).toEqual([]);
    expect(await checkout.execute({ key, payload: GOOD, attempt: 2 })).toMatchObject({ ok: true });
    expect(checkout.handle).toHaveBeenCalledTimes(1);
  });

  test('O3 admits before a transaction begins', async () => {
    const points: string[] = [];
    const checkout = op({ admit: () => points.push('admit') > 0 }, { onPoint: (point) => void points.push(point) });
    await checkout.execute({ key: freshKey(), payload: GOOD });
    expect(points).toEqual(['admit', 'before-claim', 'after-claim', 'after-handler', 'before-commit', 'after-commit']);
  });
});

describe('K3 old keys', () => {
  const DAY_AGO = 25 * HOUR;
  const mint = async (ago: number, secret: string[]) =>
    (await op({}, { secret, clock: () => Date.now() - ago }).mintKey()) as string;

  describe.each([
    ['unsigned', [] as string[]],
    ['signed', [SECRET]],
  ])('%s', (_, secret) => {
    test('K3 older than the window and without a row: key_expired, never executed', async () => {
      const key = await mint(DAY_AGO, secret);
      const checkout = op({}, { secret });
      expect(await checkout.execute({ key, payload: GOOD })).toMatchObject({
        code: 'key_expired',
        executed: 'unknown',
        retry: 'never',
        nextKey: expect.any(String),
      });
      expect(await checkout.fence({ key })).toMatchObject({ code: 'key_expired', executed: 'unknown' });
      expectCounted(await rowsOf(database.client, key)).toEqual([]);
      expect(checkout.handle).not.toHaveBeenCalled();
    });

    test('K3 with a row it replays, however old', async () => {
      const key = await mint(DAY_AGO, secret);
      await op({}, { secret, window: '48h' }).execute({ key, payload: GOOD });
      expect(await op({}, { secret }).execute({ key, payload: GOOD })).toMatchObject({ ok: true, replayed: true });
    });

    test('K3 a claim that is not committed yet decides', async () => {
      const key = await mint(DAY_AGO, secret);
      const [started, end] = [gate(), gate()];
      const handle = async () => {
        started.open();
        await end.opened;
        return 'in time';
      };
      const early = kit(database.client, { secret, window: '48h' })
        .operation({ name: 'checkout', schema: order })
        .handler(handle);
      const running = early.execute({ key, payload: GOOD });
      await started.opened;
      const late = op({}, { secret });
      expect(await late.execute({ key, payload: GOOD })).toMatchObject({ code: 'in_flight', executed: 'unknown' });
      end.open();
      await running;
      expect(await late.execute({ key, payload: GOOD })).toMatchObject({ ok: true, replayed: true, data: 'in time' });
    });

    test('K3 from the future by more than 5 min: key_invalid', async () => {
      const key = await mint(-6 * 60_000, secret);
      expect(await op({}, { secret }).execute({ key, payload: GOOD })).toMatchObject({
        code: 'key_invalid',
        executed: 'unknown',
      });
      const soon = await mint(-4 * 60_000, secret);
      expect(await op({}, { secret }).execute({ key: soon, payload: GOOD })).toMatchObject({ ok: true });
    });
  });

  test('K5 the time of a key that was not minted here is ignored', async () => {
    const key = await mint(DAY_AGO, []); // a UUIDv7 without a signature, where keys are signed
    expect(await op({}, { secret: [SECRET] }).execute({ key, payload: GOOD })).toMatchObject({
      ok: true,
      replayed: false,
    });
    expectCounted(await rowsOf(database.client, key)).toMatchObject([{ mintedAt: null }]);
    expectCounted(await effects(database.client, key)).toBe(1);
  });

  test('K6 every settled answer and every refusal that knows who asks carries a key that works', async () => {
    const checkout = op({}, { secret: [SECRET] });
    const key = freshKey();
    const told = [
      await checkout.execute({ key, payload: GOOD }),
      await checkout.execute({ key, payload: GOOD }),
      await checkout.execute({ key, payload: { ...GOOD, sku: 'mug' } }),
      await checkout.execute({ key: freshKey(), payload: BAD }),
      await checkout.execute({ key: await mint(DAY_AGO, [SECRET]), payload: GOOD }),
      await checkout.status({ key }),
      await checkout.fence({ key: freshKey() }),
    ] as { nextKey: string }[];
    expect(new Set(told.map(({ nextKey }) => nextKey)).size).toBe(told.length);
    for (const { nextKey } of told) {
      expect(await checkout.execute({ key: nextKey, payload: GOOD, acceptKeys: 'minted' })).toMatchObject({ ok: true });
    }
  });
});

test('a kit that is set up wrongly throws, and does not answer like a passing fault', async () => {
  const wrongly = kit(database.client, { scope: () => ({ tenant: '', principal: 'ann' }) });
  const checkout = wrongly.operation({ name: 'checkout', schema: anything }).handler(async () => 1);
  await expect(checkout.execute({ key: freshKey(), payload: {} })).rejects.toThrow(/tenant/);
});
