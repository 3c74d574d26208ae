import { describe, expect, test } from 'vitest';
import { type Client, createClient } from '../../../../shop/db.ts';
import { anything, freshKey, gate, kit } from '../../../integration/kit.fixture.ts';
import { outside } from '../async-context.ts';
import { barrier, ended, execute, pidOf, stage } from './ambient.fixture.ts';

/**
 * Prisma's loader collects the `findUnique` calls of one tick, whoever made them, and sends them from the context of the
 * first. Here they meet in one tick on purpose.
 */

const here = stage();

/** Asks when all are there, and ends nothing before all have their answers. */
type Meet = <T>(ask: () => Promise<T>) => Promise<T>;
type Asker = (meet: Meet) => Promise<unknown>;

/** Has them ask in one tick, in this order. */
async function inOneTick(...askers: Asker[]): Promise<unknown[]> {
  const { open, opened } = gate();
  const answered = barrier(askers.length);
  const asking: Promise<unknown>[] = [];
  for (const askIn of askers) {
    const there = gate();
    const meet: Meet = async (ask) => {
      there.open();
      await opened;
      try {
        return await ask();
      } finally {
        await answered();
      }
    };
    asking.push(askIn(meet));
    await there.opened;
  }
  open();
  return await Promise.all(asking);
}

const product = (sku: string) => ({ data: { sku, name: sku, description: '', priceCents: 1, stock: 1 } });
const find = (client: Pick<Client, 'product'>, sku: string) => client.product.findUnique({ where: { sku } });
const seenBy = async (client: Pick<Client, 'product'>, ...skus: string[]) =>
  (await Promise.all(skus.map((sku) => find(client, sku)))).map((found) => found?.sku ?? 'not seen');

/** An execution that writes the first of these, and asks for all of them. */
const execution =
  (client: Client, ...[own = '', ...others]: string[]): Asker =>
  async (meet) => {
    const { outcome } = await execute(client, async ({ tx }) => {
      await tx.product.create(product(own));
      const pid = await pidOf(tx);
      const seen = await meet(() => seenBy(client, own, ...others));
      return [seen, pid === (await pidOf(client))];
    });
    return outcome.ok ? outcome.data : outcome;
  };

/** One that runs in no execution. */
const outsider =
  (client: Pick<Client, 'product'>, ...skus: string[]): Asker =>
  (meet) =>
    meet(() => seenBy(client, ...skus));

describe('findUnique of several in one tick', () => {
  test('two executions: each sees its own uncommitted row and not the other’s, on its own connection', async () => {
    const { client } = here;
    const [one, two] = [freshKey(), freshKey()];
    const told = await inOneTick(execution(client, one, two), execution(client, two, one));
    expect(told).toEqual([
      [[one, 'not seen'], true],
      [[two, 'not seen'], true],
    ]);
  });

  test('two executions that ask for different models', async () => {
    const { client } = here;
    const [sku, cart] = [freshKey(), crypto.randomUUID()];
    const other: Asker = async (meet) => {
      const { outcome } = await execute(client, async ({ tx }) => {
        await tx.cart.create({ data: { id: cart, shopper: 's', sku: 'mug', quantity: 1 } });
        const [own, others] = await meet(() =>
          Promise.all([client.cart.findUnique({ where: { id: cart } }), client.product.findUnique({ where: { sku } })]),
        );
        return [own?.id, others];
      });
      return outcome.ok ? outcome.data : outcome;
    };
    expect(await inOneTick(execution(client, sku), other)).toEqual([
      [[sku], true],
      [cart, null],
    ]);
  });

  test.each<[string, (client: Client) => Client]>([
    ['of the same client', (client) => client],
    ['of another client on another pool', () => here.another().client],
    ['of an extended client', (client) => client.$extends({}) as unknown as Client],
  ])('an outsider %s, before and behind an execution, sees nothing of it and costs it nothing', async (_, other) => {
    const { client } = here;
    const sku = freshKey();
    const out = outsider(other(client), sku, 'mug');
    const told = await inOneTick(out, execution(client, sku, 'mug'), out);
    const seen = ['not seen', 'mug'];
    expect(told).toEqual([seen, [[sku, 'mug'], true], seen]);
  });

  test('a list of a client that the kit does not know is refused on its pool, also in one tick with an outsider', async () => {
    const { client, pool } = here.another({ max: 3 });
    const second = createClient(here.url, { pool }); // it ends with the first one
    const sku = freshKey();
    const listing: Asker = async (meet) => {
      const { outcome } = await execute(client, async () => {
        const list = () => second.$transaction([second.product.create(product(sku)), second.product.count()]);
        return String(await meet(async () => await ended(list())));
      });
      return outcome.ok ? outcome.data : outcome;
    };
    const out = outsider(second, sku, 'mug');
    const seen = ['not seen', 'mug'];
    expect(await inOneTick(out, listing, out)).toEqual([
      seen,
      expect.stringContaining('product.create would not'),
      seen,
    ]);
    expect(await find(client, sku)).toBeNull();
  });

  test('a list is one transaction, and a transaction of Prisma’s keeps its order, beside a phase that is being committed', async () => {
    const { client } = here.another({ max: 3 });
    const { client: other } = here.another({ max: 3 });
    await other.product.create(product('there'));
    const create = (sku: string) => other.product.create(product(sku));
    const operation = kit(client)
      .operation({ name: 'phased', schema: anything })
      .phases(async ({ key, atomic }) => {
        await atomic('one', (tx) => tx.product.count());
        // The next query of anybody commits that phase first.
        const list = await ended(other.$transaction([create(key), create('there')]));
        await atomic('two', (tx) => tx.product.count());
        const order = await other.$transaction(async (itx) => {
          const skus: string[] = [];
          const found = (sku: string) => itx.product.findFirst({ where: { sku } }).then(() => void skus.push(sku));
          await Promise.all([found('mug'), found('there')]);
          return skus;
        });
        return [list instanceof Error, order];
      });
    const key = freshKey();
    expect(await operation.execute({ key, payload: {} })).toMatchObject({ ok: true, data: [true, ['mug', 'there']] });
    expect(await find(other, key)).toBeNull();
  });

  test('an interactive transaction of an outsider, before and behind an execution', async () => {
    const { client } = here;
    const [sku, before, behind] = [freshKey(), freshKey(), freshKey()];
    const interactive =
      (own: string): Asker =>
      (meet) =>
        client.$transaction(async (tx) => {
          await tx.product.create(product(own));
          return await meet(() => seenBy(tx, own, sku));
        });
    const told = await inOneTick(interactive(before), execution(client, sku, before, behind), interactive(behind));
    expect(told).toEqual([
      [before, 'not seen'],
      [[sku, 'not seen', 'not seen'], true],
      [behind, 'not seen'],
    ]);
  });

  test('the same handler within and outside of its transaction, and within a savepoint of it', async () => {
    const { client } = here;
    const sku = freshKey();
    const { outcome } = await execute(client, async ({ tx }) => {
      await tx.product.create(product(sku));
      const told = await Promise.all([
        find(client, sku),
        outside(() => find(client, sku)),
        client.$transaction((nested) => find(nested, sku)),
        outside(() => seenBy(client, sku, 'mug')),
      ]);
      return told.map((found) => (found && 'sku' in found ? found.sku : found));
    });
    expect(outcome).toMatchObject({ ok: true, data: [sku, null, sku, ['not seen', 'mug']] });
  });

  test('an interactive transaction that was open before goes on by itself within a handler, and takes nobody along', async () => {
    const { client } = here;
    const [own, theirs] = [freshKey(), freshKey()];
    const seen = await client.$transaction(async (theirTx) => {
      await theirTx.product.create(product(theirs));
      const { outcome } = await execute(client, async ({ tx }) => {
        await tx.product.create(product(own));
        // In one tick, which the first of them begins.
        return await Promise.all([
          seenBy(theirTx, own, theirs),
          outside(() => seenBy(client, own, theirs)),
          seenBy(tx, own, theirs),
        ]);
      });
      return outcome.ok && outcome.data;
    });
    expect(seen).toEqual([
      ['not seen', theirs],
      ['not seen', 'not seen'],
      [own, 'not seen'],
    ]);
  });

  test('50 executions on 5 connections, each of which asks for the rows of all: each sees its own', async () => {
    const { client } = here.another();
    const skus = Array.from({ length: 50 }, freshKey);
    const told = await Promise.all(
      skus.map((sku) =>
        execute(
          client,
          async ({ tx }) => {
            await tx.product.create(product(sku));
            return await seenBy(client, ...skus);
          },
          { maxWaitMs: 20_000 },
        ),
      ),
    );
    // What others have committed meanwhile may be seen; one's own must be.
    for (const [n, { outcome }] of told.entries())
      expect(outcome.ok && (outcome.data as unknown as string[])[n]).toBe(skus[n]);
    expect(await ended(find(client, 'mug'))).toMatchObject({ sku: 'mug' });
  });
});
