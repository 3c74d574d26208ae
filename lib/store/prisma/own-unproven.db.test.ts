import { afterEach, describe, expect, test, vi } from 'vitest';
import { expectCounted } from '../../../scripts/testing/expect-counted.ts';
import type { Client } from '../../../shop/db.ts';
import { anything, effect, freshKey, kit } from '../../integration/kit.fixture.ts';
import { ended, execute, stage } from './ambient/ambient.fixture.ts';

/** Clients of which it is not seen where each query goes. */

const here = stage();

/** One that is made as no client of Prisma's is. */
const strange = () =>
  new Proxy(here.another().client, {
    get: (client, name) => (name === '_originalClient' ? undefined : Reflect.get(client, name)),
  });
const replicated = () => here.another().client.$extends({ client: { $replica: () => undefined } }) as unknown as Client;

afterEach(() => void vi.unstubAllEnvs().restoreAllMocks());

describe.each([
  ['that the kit does not know', strange],
  ['with read replicas', replicated],
])('a client %s', (_, make) => {
  test('executes, and says in development that nothing is proven', async () => {
    vi.stubEnv('NODE_ENV', 'development');
    const told = vi.spyOn(console, 'warn').mockReturnValue();
    const client = make();
    for (let n = 0; n < 2; n++) {
      const { key, outcome } = await execute(client, ({ tx, key }) => effect(tx, key));
      expect(outcome).toMatchObject({ ok: true });
      expectCounted(await here.counted(key)).toEqual([1, 1]);
    }
    const words = told.mock.calls.map(String);
    expect(words.filter((said) => said.includes('never as not executed'))).toHaveLength(1);
  });

  test('a handler that has begun, and fails, is never told as not executed; refused before, it is', async () => {
    const client = make();
    const failed = await execute(client, async ({ tx, key }) => {
      await effect(tx, key);
      throw new Error('boom');
    });
    expect(failed.outcome).toMatchObject({ ok: false, code: 'unavailable', executed: 'unknown', retry: 'same-key' });
    expectCounted(await here.counted(failed.key)).toEqual([0, 0]);
    const conflict = await execute(client, ({ tx }) => tx.$executeRaw`DO $$ BEGIN RAISE SQLSTATE '40001'; END $$`);
    expect(conflict.outcome).toMatchObject({ code: 'unavailable', executed: 'unknown' });
    const again = await execute(client, ({ tx, key }) => effect(tx, key), { key: failed.key, attempt: 2 });
    expect(again.outcome).toMatchObject({ ok: true, replayed: false });
    await here.trigger('TRIGGER fault BEFORE INSERT ON idempotency_keys', `RAISE EXCEPTION 'no claim';`);
    const refused = await execute(client, ({ tx, key }) => effect(tx, key), { attempt: 1 });
    expect(refused.outcome).toMatchObject({ ok: false, executed: false });
  });

  test('fails in a phase: its key is looked at again, and not told as not executed', async () => {
    const operation = kit(make())
      .operation({ name: 'phased', schema: anything })
      .phases(async ({ atomic }) => {
        await atomic('first', async () => {
          throw new Error('boom');
        });
      });
    expect(await operation.execute({ key: freshKey(), payload: {} })).toMatchObject({ ok: false, executed: 'unknown' });
  });
});

test('a transaction that does not say which one it is, as in Prisma 7.0: what its first statement is in', async () => {
  const { client } = here.another();
  const SCOPE = Symbol.for('prisma.client.transaction.scope_context');
  const hidden = (tx: object) =>
    new Proxy(tx, { get: (own, name) => (name === SCOPE ? undefined : Reflect.get(own, name)) });
  const begin = client.$transaction.bind(client) as (run: (tx: object) => unknown, options: unknown) => unknown;
  const old = client.$extends({
    client: {
      $transaction: (run: (tx: object) => unknown, options: unknown) => begin((tx) => run(hidden(tx)), options),
    },
  }) as unknown as Client;
  const { key, outcome } = await execute(old, async ({ tx, key }) => {
    await effect(tx, key);
    return String(await ended(effect(client, key)));
  });
  expect(outcome).toMatchObject({ ok: true, data: expect.stringContaining('auditRecord.create would not') });
  expectCounted(await here.counted(key)).toEqual([1, 1]);
});
