import { describe, expect, test } from 'vitest';
import { expectCounted } from '../../../../scripts/testing/expect-counted.ts';
import { testDatabase } from '../../../../scripts/testing/test-database.ts';
import type { Client } from '../../../../shop/db.ts';
import { effect, effects } from '../../../integration/kit.fixture.ts';
import { outside } from '../async-context.ts';
import { ended, execute, pidOf, stage } from './ambient.fixture.ts';

/** Extended clients: which of a client's extensions is the kit's, and which the handler's, makes no difference. */

const here = stage();
const create = (action: string) => ({ data: { action, tenant: 't', principal: 'p' } });

/** With extensions of every kind. */
function extended(client: Client, asked: string[] = []) {
  return client.$extends({
    query: {
      $allOperations: async ({ operation, args, query }) => {
        asked.push(operation);
        await new Promise((resolve) => setImmediate(resolve)); // as one does that asks somebody first
        return await query(args);
      },
      auditRecord: { create: ({ args, query }) => query({ ...args, data: { ...args.data, principal: 'extended' } }) },
    },
    model: {
      auditRecord: {
        // As an extension does it that wraps what is there.
        async twice(action: string) {
          await client.$transaction(async (tx) => {
            await tx.auditRecord.create(create(action));
            await tx.auditRecord.create(create(action));
          });
          return await client.auditRecord.count({ where: { action } });
        },
      },
    },
    result: {
      auditRecord: { loud: { needs: { action: true }, compute: ({ action }) => action.toUpperCase() } },
    },
    client: { pid: () => pidOf(client) },
  });
}
type Extended = ReturnType<typeof extended>;

describe('query, model, result and client extensions', () => {
  test.each([
    ['the kit has the extended client', true, false],
    ['the kit has the extended client, and the query comes through the global one', true, true],
    ['the kit has the client under it', false, true],
  ])('%s: they work, within the transaction', async (_, isKits, isGlobal) => {
    const { client: base } = here.another();
    const asked: string[] = [];
    const own = extended(base, asked);
    for (const isRefused of [true, false]) {
      asked.length = 0;
      const { key, outcome } = await execute((isKits ? own : base) as unknown as Client, async ({ tx, key }) => {
        const db = isGlobal ? own : (tx as unknown as Extended);
        const { loud } = await db.auditRecord.create(create(key));
        const [found] = await db.auditRecord.findMany({ where: { action: key } });
        const seen = [loud, found?.loud, found?.principal, await db.auditRecord.twice(`${key}-twice`)];
        seen.push(Number((await db.pid()) === (await pidOf(base))));
        const nested = db.$transaction(async (inner) => {
          const { principal } = await inner.auditRecord.create(create(`${key}-nested`));
          throw new Error(`${principal} in a savepoint`);
        });
        seen.push(String(await ended(nested)));
        expect(seen).toEqual([
          key.toUpperCase(),
          key.toUpperCase(),
          'extended',
          2,
          1,
          'Error: extended in a savepoint',
        ]);
        expect(await outside(() => own.auditRecord.count({ where: { action: key } }))).toBe(0);
        if (isRefused) throw new Error('rolled back');
      });
      expect(outcome).toMatchObject(isRefused ? { executed: false } : { ok: true });
      expectCounted(await here.counted(key)).toEqual(isRefused ? [0, 0] : [1, 1]);
      expectCounted([await here.written(`${key}-twice`), await here.written(`${key}-nested`)]).toEqual([
        isRefused ? 0 : 2,
        0,
      ]);
      expect(asked).toEqual(expect.arrayContaining(['create', 'findMany']));
    }
  });

  test('two extensions of one client: each is in the transaction', async () => {
    const { client } = here.another();
    const [one, two] = [client.$extends({ name: 'one' }), extended(client)];
    const { key, outcome } = await execute(one as unknown as Client, async ({ key }) => {
      await effect(two as unknown as Client, key);
      await effect(client, key);
      await two.$transaction((inner) => effect(inner as unknown as Client, key));
      return await pidOf(one).then(async (pid) => pid === (await two.pid()));
    });
    expectCounted([outcome, await here.counted(key)]).toMatchObject([{ ok: true, data: true }, [3, 1]]);
  });
});

describe('an extension that makes a transaction of each query, to set who asks (row-level security)', () => {
  const tenantOf = (client: Client, tenant: string) =>
    client.$extends({
      query: {
        $allModels: {
          async $allOperations({ args, query }) {
            const [, result] = await client.$transaction([
              client.$executeRaw`SELECT set_config('app.tenant', ${tenant}, TRUE)`,
              query(args),
            ]);
            return result;
          },
        },
      },
    });
  /** The same for raw queries, and with a function. */
  const tenantOfAll = (client: Client, tenant: string) =>
    client.$extends({
      query: {
        async $allOperations({ args, query }) {
          const [, result] = await client.$transaction([
            client.$executeRaw`SELECT set_config('app.tenant', ${tenant}, TRUE)`,
            query(args),
          ]);
          return result;
        },
      },
    });

  test.each([
    ['of the models', tenantOf],
    ['of everything', tenantOfAll],
  ])('%s: each query has what was set, in turn and at once, in one transaction', async (_, make) => {
    const { client: base } = here.another({ max: 2 });
    await here.watch.query(`CREATE FUNCTION stamp() RETURNS trigger LANGUAGE plpgsql AS
                            $$ BEGIN NEW.tenant := current_setting('app.tenant'); RETURN NEW; END $$`);
    await here.watch.query('CREATE TRIGGER stamp BEFORE INSERT ON audit_records FOR EACH ROW EXECUTE FUNCTION stamp()');
    here.later(() => here.watch.query('DROP FUNCTION stamp() CASCADE'));
    const client = make(base, 'acme') as unknown as Client;
    for (const isRefused of [false, true]) {
      const { key, outcome, error } = await execute(client, async ({ tx, key }) => {
        await effect(tx, key);
        await Promise.all(Array.from({ length: 5 }, () => effect(client, key)));
        await tx.$transaction((inner) => effect(inner, key));
        // One that fails takes nothing with it but itself.
        expect(
          await ended(tx.product.create({ data: { sku: 'mug', name: '', description: '', priceCents: 1, stock: 1 } })),
        ).toMatchObject({ code: 'P2002' });
        if (isRefused) throw new Error('rolled back');
        return await tx.auditRecord.count({ where: { action: key, tenant: 'acme' } });
      });
      if (!isRefused) expect(error).toBeUndefined();
      expect(outcome).toMatchObject(isRefused ? { executed: false } : { ok: true, data: 7 });
      expectCounted(await here.counted(key)).toEqual(isRefused ? [0, 0] : [7, 1]);
    }
    // What is set goes with the transaction.
    expect(await base.$queryRaw`SELECT current_setting('app.tenant', true) AS tenant`).toEqual([{ tenant: '' }]);
  });
});

describe('an extension that writes into another database, too', () => {
  const auditedBy = (other: Client, when: 'before' | 'behind') => ({
    query: {
      async $allOperations({ args, query }: { args: unknown; query: (args: unknown) => Promise<unknown> }) {
        const audit = () => outside(() => effect(other, 'asked'));
        if (when === 'before') await audit();
        const result = await query(args);
        if (when === 'behind') await audit();
        return result;
      },
    },
  });

  test.each(['before', 'behind'] as const)(
    '%s each query, outside: the transaction is that of its own client',
    async (when) => {
      const other = await testDatabase();
      here.later(other.drop);
      const client = here.another().client.$extends(auditedBy(other.client, when) as object) as unknown as Client;
      for (const isRefused of [true, false]) {
        const { key, outcome } = await execute(client, async ({ tx, key }) => {
          await effect(tx, key);
          if (isRefused) throw new Error('rolled back');
        });
        expect(outcome).toMatchObject(isRefused ? { executed: false } : { ok: true });
        expectCounted(await here.counted(key)).toEqual(isRefused ? [0, 0] : [1, 1]);
      }
      expect(await other.client.idempotencyKey.count()).toBe(0);
      expectCounted(await effects(other.client, 'asked')).toBeGreaterThan(1);
    },
  );
});
