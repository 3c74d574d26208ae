import { describe, expect, test } from 'vitest';
import { effects, freshKey, gate } from './engine.testsuite.ts';
import { database, expectOnce, expire, provider, rowOf, shop, usePhases } from './phases-shop.testsuite.ts';

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

  test('whose key a failover has lost proves nothing of the effect, and the retry executes', async () => {
    const errors: unknown[] = [];
    const { checkout } = shop({ onError: (error) => void errors.push((error as Error).name) });
    const key = freshKey();
    provider.onCharge = async () => {
      provider.onCharge = () => {};
      const { client } = database;
      await client.$transaction([
        client.idempotencyKey.deleteMany({ where: { key } }),
        client.auditRecord.deleteMany({ where: { action: `${key}:order` } }),
      ]);
    };
    const told = { code: 'unavailable', executed: 'unknown', retry: 'same-key', retryAfterMs: 1000 };
    expect(await checkout.execute({ key, payload: {} })).toMatchObject(told);
    expect(errors).toEqual(['LeaseLostError']);
    expect(await checkout.execute({ key, payload: {}, attempt: 2 })).toMatchObject({ ok: true, replayed: false });
    await expectOnce(key);
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
