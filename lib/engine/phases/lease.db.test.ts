import { describe, expect, test, vi } from 'vitest';
import { expectCounted } from '../../../scripts/testing/expect-counted.ts';
import { effects, freshKey, gate } from '../../integration/kit.fixture.ts';
import { database, expectOnce, expire, lose, provider, rowOf, shop, stepsOf, usePhases } from './shop.fixture.ts';

usePhases();

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
    const token = (await rowOf(key))?.fencingToken ?? 0;
    await expire(key);
    const elsewhere = shop();
    expect(await elsewhere.checkout.execute({ key, payload: {}, attempt: 2 })).toMatchObject({ ok: true });
    go.open();
    // It finds the other's answer; nothing of its own was written.
    expect(await slow).toMatchObject({ ok: true, replayed: true });
    expect(lost).toEqual(['LeaseLostError']);
    await expectOnce(key);
    // A client that retries does not use up what the completer is given.
    const { fencingToken = 0, attempts } = (await rowOf(key)) ?? {};
    expect(fencingToken).toBeGreaterThan(token);
    expect(attempts).toBe(1);
  });

  test('whose key a failover has lost proves nothing of the effect, and the retry executes', async () => {
    const errors: unknown[] = [];
    const { checkout } = shop({ onError: (error) => void errors.push((error as Error).name) });
    const key = freshKey();
    provider.onCharge = async () => {
      provider.onCharge = () => {};
      await lose(key);
    };
    const told = { code: 'unavailable', executed: 'unknown', retry: 'same-key', retryAfterMs: 1000 };
    expect(await checkout.execute({ key, payload: {} })).toMatchObject(told);
    expect(errors).toEqual(['LeaseLostError']);
    expect(await checkout.execute({ key, payload: {}, attempt: 2 })).toMatchObject({ ok: true, replayed: false });
    await expectOnce(key);
  });

  test('of a key that was lost and claimed anew is not that of the first executor', async () => {
    const key = freshKey();
    const [first, second] = [gate(), gate()];
    const [charging, again] = [gate(), gate()];
    const steps = [
      { reached: charging, go: first },
      { reached: again, go: second },
    ];
    provider.onCharge = async () => {
      const step = steps.shift();
      step?.reached.open();
      await step?.go.opened;
    };
    const slow = shop().checkout.execute({ key, payload: {} });
    await charging.opened;
    await lose(key);
    const elsewhere = shop().checkout.execute({ key, payload: {}, attempt: 2 });
    await again.opened;
    first.open();
    expect(await slow).toMatchObject({ code: 'in_flight' });
    expect((await stepsOf(key)).map(({ name, state }) => [name, state])).toEqual([
      ['order_id', 'done'],
      ['order_created', 'done'],
      ['charge_created', 'started'],
    ]);
    second.open();
    expect(await elsewhere).toMatchObject({ ok: true, replayed: false });
    await expectOnce(key);
  });

  test('is renewed while its executor lives', async () => {
    const leaseMs = 2000;
    const { checkout, idempotency } = shop({ leaseMs });
    const key = freshKey();
    const go = gate();
    const charging = gate();
    provider.onCharge = async () => {
      charging.open();
      await go.opened;
    };
    const slow = checkout.execute({ key, payload: {} });
    await charging.opened;
    const leaseUntil = async () => (await rowOf(key))?.leaseUntil?.getTime() ?? 0;
    const claimed = await leaseUntil();
    // A renewal behind the end of the first lease: without it the key would be due. After 10 s the call is given up, and the row written.
    await vi.waitFor(async () => expect(await leaseUntil()).toBeGreaterThan(claimed + leaseMs), 8000);
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
  expectCounted(await effects(database.client, `${key}:finished`)).toBe(0);
  provider.onCharge = () => {};
  await expire(key);
  expect(await idempotency.completeDue({ limit: 100 })).toMatchObject({ settled: 1 });
  await expectOnce(key);
});
