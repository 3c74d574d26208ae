import { AsyncLocalStorage } from 'node:async_hooks';
import { PrismaPg as PlainPg } from '@prisma/adapter-pg';
import { describe, expect, test } from 'vitest';
import { expectCounted } from '../../../scripts/testing/expect-counted.ts';
import { type Client, createClient } from '../../../shop/db.ts';
import { createAdmin } from '../../admin/index.ts';
import { anything, effect, freshKey, gate, kit } from '../../integration/kit.fixture.ts';
import { createInbox } from '../../messaging/prisma.ts';
import { barrier, ended, execute, stage } from './ambient/ambient.fixture.ts';

/** Clients with a `$transaction` of their own, which catches, tries again, or goes on behind COMMIT; and what else an extension adds. */

const here = stage();
const WAYS = {
  kit: () => here.another().client,
  prisma: () => {
    const client = createClient(here.url, { adapter: new PlainPg({ connectionString: here.url, max: 5 }) });
    here.later(() => client.$disconnect());
    return client;
  },
};
type Begin = (run: (tx: Client) => Promise<unknown>, options?: object) => Promise<unknown>;

/** A client with a `$transaction` of its own. */
function transacting(base: Client, own: (begin: Begin) => Begin): Client {
  const begin = base.$transaction.bind(base) as unknown as Begin;
  return base.$extends({ client: { $transaction: own(begin) } }) as unknown as Client;
}
const swallows =
  (begin: Begin): Begin =>
  (run, options) =>
    begin(run, options).catch(() => undefined);
const WITHIN: [string, (begin: Begin) => Begin][] = [
  [
    'swallows an error within',
    (begin) => (run, options) => begin((tx) => run(tx as Client).catch(() => undefined), options),
  ],
  ['tries again within', (begin) => (run, options) => begin((tx) => run(tx as Client).catch(() => run(tx)), options)],
];

describe.each(Object.entries(WAYS))('on the way of %s', (_, make) => {
  describe.each(WITHIN)('a $transaction that %s', (_, own) => {
    const failingOnce = () => {
      let runs = 0;
      return async (tx: Client, key: string) => {
        await effect(tx, key);
        if (++runs === 1) throw new Error('boom');
      };
    };

    test('a handler that throws leaves neither its effect nor a key in progress', async () => {
      const { key } = await execute(transacting(make(), own), async ({ tx, key }) => {
        await effect(tx, key);
        throw new Error('boom');
      });
      expectCounted(await here.counted(key)).toEqual([0, 0]);
    });

    test('an event whose effect throws is not acknowledged', async () => {
      const inbox = createInbox({ prisma: transacting(make(), own), onReport: () => {} });
      const eventId = freshKey();
      const received = await inbox.receiveOnce({ source: 's', eventId, payload: {} }, async (tx) => {
        await effect(tx, eventId);
        throw new Error('boom');
      });
      expect(received.kind).toBe('failed');
      expectCounted(await here.written(eventId)).toBe(0);
    });

    const oneOf = (at: number) => (own === WITHIN[at]?.[1] ? test : undefined);
    oneOf(0)?.('a phase takes place once', async () => {
      const work = failingOnce();
      const operation = kit(transacting(make(), own))
        .operation({ name: 'phased', schema: anything })
        .phases(async ({ atomic, key }) => {
          await atomic('first', async () => {});
          await atomic('second', (tx) => work(tx as Client, key));
        });
      const key = freshKey();
      await operation.execute({ key, payload: {} });
      await operation.execute({ key, payload: {} });
      expectCounted(await here.written(key)).toBe(1);
    });

    oneOf(1)?.('an erasure takes place once', async () => {
      const [work, principal] = [failingOnce(), freshKey()];
      const onErase = (_: unknown, tx: unknown) => work(tx as Client, principal).then(() => undefined);
      await ended(
        createAdmin({ prisma: transacting(make(), own), onErase }).erasePrincipal({ tenant: 't', principal }, 'eve'),
      );
      expectCounted(await here.written(principal)).toBeLessThan(2);
    });
  });

  test('an erasure that was rolled back, and whose error $transaction swallows, is not told as done', async () => {
    const onErase = async () => {
      throw new Error('boom');
    };
    const said: string[] = [];
    const admin = createAdmin({
      prisma: transacting(make(), swallows),
      onErase,
      log: ({ msg }) => void said.push(msg),
    });
    const end = await ended(admin.erasePrincipal({ tenant: 't', principal: freshKey() }, 'eve'));
    expect([end, said]).toEqual([expect.any(Error), []]);
  });

  test('a hook of $transaction that fails behind COMMIT is never answered as executed: false', async () => {
    const base = make();
    const client = transacting(base, (begin) => async (run, options) => {
      await begin(run, options);
      await base.$queryRaw`SELECT 1 / 0`;
    });
    const { key, outcome } = await execute(client, ({ tx, key }) => effect(tx, key));
    expectCounted([outcome, await here.counted(key)]).toMatchObject([{ ok: false, executed: 'unknown' }, [1, 1]]);
  });

  test('a $transaction that begins again behind a COMMIT whose answer it has lost: the same', async () => {
    const down = () => Promise.reject(Object.assign(new Error('Server has closed the connection.'), { code: 'P1017' }));
    const away = (tx: Client) =>
      new Proxy(tx, { get: (own, name) => (name === '$queryRawUnsafe' ? down : Reflect.get(own, name)) });
    const client = transacting(make(), (begin) => async (run, options) => {
      await begin(run, options);
      return await begin((tx) => run(away(tx)), options);
    });
    const { key, outcome } = await execute(client, ({ tx, key }) => effect(tx, key), { attempt: 1 });
    expectCounted([outcome, await here.counted(key)]).toMatchObject([{ ok: false, executed: 'unknown' }, [1, 1]]);
  });

  test('what a try that was rolled back has given to afterCommit is not done', async () => {
    let [runs, mails] = [0, 0];
    const client = transacting(
      make(),
      (begin) => (run, options) => begin(run, options).catch(() => begin(run, options)),
    );
    const { outcome } = await execute(client, async ({ tx, key, afterCommit }) => {
      afterCommit(() => void mails++);
      await effect(tx, key);
      if (++runs === 1) throw new Error('boom');
    });
    expectCounted([outcome.ok, runs, mails]).toEqual([true, 2, 1]);
  });

  test('what is done in an erasure is told, also where $transaction drops the result', async () => {
    const client = transacting(make(), (begin) => async (run, options) => void (await begin(run, options)));
    const end = await createAdmin({ prisma: client }).erasePrincipal({ tenant: 't', principal: freshKey() }, 'eve');
    expect(end).toMatchObject({ forgotten: 0 });
  });

  const THINGS = {
    frozen: Object.freeze({ one: () => 1 }),
    Kind: class {
      one = 1;
    },
    noted: Object.assign(() => 1, { one: 1 }),
  };
  const USES: [string, (db: typeof THINGS) => unknown][] = [
    ['a frozen object', ({ frozen }) => frozen.one()],
    ['a class', ({ Kind }) => new Kind().one],
    ['a function with properties', ({ noted }) => noted.one],
  ];
  test.each(USES)('tx has what an extension adds to the client as the client has it: %s', async (_, use) => {
    const client = make().$extends({ client: THINGS });
    expect(await client.$transaction(async (tx) => use(tx as unknown as typeof THINGS))).toBe(1);
    const { outcome } = await execute(client as unknown as Client, async ({ tx }) => use(tx as never));
    expect(outcome).toMatchObject({ ok: true, data: 1 });
  });

  test('what an operation does of $transaction([…]) of tx is in it, or refused, though Prisma leaves it standing', async () => {
    const client = make();
    const list = (tx: Client, action: string) =>
      tx.$transaction([tx.auditRecord.create({ data: { action, tenant: 't', principal: 'p' } })]);
    const bare = freshKey();
    await ended(
      client.$transaction(async (tx) => {
        await list(tx as Client, bare);
        throw new Error('boom');
      }),
    );
    expectCounted(await here.written(bare)).toBe(1); // by Prisma 7.10 alone
    const { key, outcome } = await execute(client, async ({ tx, key }) => {
      await list(tx, key);
      throw new Error('boom');
    });
    expect(outcome).toMatchObject({ executed: false });
    expectCounted(await here.counted(key)).toEqual([0, 0]);
  });
});

test('tx has no $connect, nor $extends, to `in`, as in Prisma', async () => {
  const { outcome } = await execute(here.another().client, async ({ tx }) => '$connect' in tx || '$extends' in tx);
  expect(outcome).toMatchObject({ data: false });
});

describe('in a transaction of Prisma’s', () => {
  /** Lets one through at a time, and begins the next where the one before has ended: in that one's async context. */
  function oneByOne() {
    const waiting: (() => void)[] = [];
    let isBusy = false;
    const next = () => {
      isBusy = false;
      waiting.shift()?.();
    };
    return <T>(run: () => PromiseLike<T>) =>
      new Promise<T>((resolve, reject) => {
        const begin = () => {
          isBusy = true;
          run().then(resolve, reject);
        };
        if (isBusy) waiting.push(begin);
        else begin();
      }).finally(next);
  }

  test('a query that an extension’s queue sends in the context of another execution is in its own transaction', async () => {
    const [queued, whose, meet] = [oneByOne(), new AsyncLocalStorage<string>(), barrier(3)];
    let lostContexts = 0;
    const client = WAYS.prisma().$extends({
      query: {
        auditRecord: {
          create: ({ args, query }) =>
            queued(() => {
              if (whose.getStore() !== args.data.action) lostContexts++;
              return query(args);
            }),
        },
      },
    }) as unknown as Client;
    const run = async (key: string, isThrown: boolean) => {
      const { outcome, error } = await execute(
        client,
        ({ tx }) =>
          whose.run(key, async () => {
            await meet();
            for (let n = 0; n < 2; n++) await effect(tx, key);
            if (isThrown) throw new Error('boom');
          }),
        { key },
      );
      return [outcome.ok, error?.message, ...(await here.counted(key))];
    };
    const told = await Promise.all([false, true, false].map((isThrown) => run(freshKey(), isThrown)));
    expect(lostContexts).toBeGreaterThan(0);
    const done = [true, undefined, 2, 1];
    expectCounted(told).toEqual([done, [false, 'boom', 0, 0], done]);
  });

  test('a phase that throws is told as it was thrown where $transaction begins again, and holds nobody', async () => {
    const again =
      (begin: Begin): Begin =>
      (run, options) =>
        begin(run, options).catch(() => begin(run, options));
    const told: unknown[] = [];
    const operation = kit(transacting(WAYS.prisma(), again), { onError: (error) => void told.push(error) })
      .operation({ name: 'phased', schema: anything })
      .phases(async ({ atomic }) => {
        await atomic('first', async () => {
          throw new Error('boom');
        });
      });
    expect(await operation.execute({ key: freshKey(), payload: {} })).toMatchObject({ ok: false });
    expect(told).toMatchObject([{ message: 'boom' }]);
  });

  test('a $transaction of tx waits for what was asked of tx before, and does not take it along when it is rolled back', async () => {
    const go = gate();
    const client = WAYS.prisma().$extends({
      query: { auditRecord: { create: ({ args, query }) => go.opened.then(() => query(args)) } },
    }) as unknown as Client;
    const { key, outcome } = await execute(client, async ({ tx, key }) => {
      const before = tx.auditRecord.create({ data: { action: key, tenant: 't', principal: 'p' } }).then();
      const nested = tx.$transaction(async () => {
        go.open();
        await before;
        throw new Error('boom');
      });
      // Time for it to begin, were it not to wait.
      for (let n = 0; n < 5; n++) await here.watch.query('SELECT 1');
      go.open();
      await Promise.all([before, ended(nested)]);
    });
    expect(outcome.ok).toBe(true);
    expectCounted(await here.counted(key)).toEqual([1, 1]);
  });

  test.each(Object.entries(WAYS))(
    'what fails unseen in a $transaction of a $transaction goes alone, on the way of %s',
    async (_, make) => {
      const { key, outcome } = await execute(make(), async ({ tx, key }) => {
        await tx.$transaction(async (outer) => {
          const failing = outer.$transaction(async (inner) => {
            await effect(inner as Client, key);
            await inner.$executeRaw`SELECT 1 / 0`.catch(() => {});
          });
          await failing.catch(() => {});
          await effect(outer as Client, key);
        });
        await effect(tx, key);
      });
      expect(outcome.ok).toBe(true);
      expectCounted(await here.counted(key)).toEqual([2, 1]);
    },
  );
});
