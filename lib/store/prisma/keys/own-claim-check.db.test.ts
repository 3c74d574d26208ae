import { expect, test, vi } from 'vitest';
import type { Client } from '../../../../shop/db.ts';
import { kit } from '../../../integration/kit.fixture.ts';
import { stage } from '../ambient/ambient.fixture.ts';

/** Doctor's trial by clients whose extensions take queries elsewhere, on both ways. */

const here = stage();

interface Asked {
  operation: string;
  // biome-ignore lint/suspicious/noExplicitAny: of any model.
  args: any;
  // biome-ignore lint/suspicious/noExplicitAny: of any model.
  query: (args: any) => any;
}

const setFirst = (client: Client, query: Promise<unknown>) =>
  client
    .$transaction([client.$executeRaw`SELECT set_config('app.tenant', 'acme', true)`, query as never])
    .then(([, last]) => last);
const like = (client: Client, parts: object) => client.$extends({ client: parts as Record<string, () => unknown> });

// biome-ignore lint/suspicious/noExplicitAny: of any shape.
type Raw = Record<string, (...args: any[]) => any>;
// biome-ignore lint/suspicious/noExplicitAny: of any shape.
type Begin = (...args: any[]) => Promise<unknown>;

const failed = (words: string, cause?: unknown): never => {
  throw new Error(words, { cause });
};
/** With a `$transaction` of its own around the client's. */
const within = (client: Client, own: (begin: Begin, ...args: Parameters<Begin>) => unknown) => {
  const begin = client.$transaction.bind(client) as Begin;
  return like(client, { $transaction: (...args: Parameters<Begin>) => own(begin, ...args) });
};
/** One that is made as no client of Prisma's is, and whose queries do not pass the loader that the kit knows. */
const unseen = (client: object, parts: Record<string, unknown> = {}) => {
  const { dataloader } = (client as { _requestHandler: { dataloader: { request?: unknown; options: Raw } } })
    ._requestHandler;
  dataloader.request = (asked: unknown) => dataloader.options.singleLoader?.(asked);
  const own: Record<string, unknown> = { ...parts, _originalClient: undefined };
  return new Proxy(client, { get: (given, name) => (name in own ? own[name as string] : Reflect.get(given, name)) });
};

const OWN: [name: string, extend: (client: Client) => object, plain: string | undefined, own?: string][] = [
  ['none', (client) => client, undefined],
  [
    'row-level security of the models',
    (client) =>
      client.$extends({
        query: { $allModels: { $allOperations: ({ args, query }: Asked) => setFirst(client, query(args)) } },
      }),
    'would not have been in the transaction',
  ],
  [
    'row-level security of everything',
    (client) =>
      client.$extends({ query: { $allOperations: ({ args, query }: Asked) => setFirst(client, query(args)) } }),
    "A statement of the kit's would not",
  ],
  [
    'the captured client in place of the query',
    (client) =>
      client.$extends({
        query: {
          idempotencyKey: {
            $allOperations: ({ operation, args }: Asked) =>
              (client.idempotencyKey as unknown as Record<string, (args: object) => unknown>)[operation]?.(args),
          },
        },
      } as object),
    'idempotencyKey.updateMany would not',
  ],
  [
    'a soft delete',
    (client) =>
      client.$extends({
        query: {
          idempotencyKey: {
            deleteMany: ({ args }: Asked) => client.idempotencyKey.updateMany({ ...args, data: { traceParent: null } }),
          },
        },
      } as object),
    'idempotencyKey.updateMany would not',
  ],
  ['a $transaction of its own', (client) => within(client, (begin, ...args) => begin(...args)), undefined],
  [
    'a $transaction that is none',
    (client) => like(client, { $transaction: (run: (tx: Client) => unknown) => run(client) }),
    "A statement of the kit's would not",
    "A statement of the kit's would not",
  ],
  [
    'the captured client in place of raw SQL',
    (client) =>
      client.$extends({
        query: {
          $allOperations: ({ operation, args }: Asked) => (client as unknown as Raw)[operation]?.(...args),
        },
      }),
    "A statement of the kit's would not",
  ],
  [
    'a $transaction of its own that wraps each error',
    (client) => within(client, (begin, ...args) => begin(...args).catch((cause) => failed('wrapped', cause))),
    undefined,
  ],
  [
    'a $transaction of its own that swallows each error, and commits: a rollback all the same',
    (client) => within(client, (begin, run, ...args) => begin((tx: Client) => run(tx).catch(() => null), ...args)),
    undefined,
  ],
  [
    'a $transaction that is none, of a client whose queries are not seen',
    (client) => unseen(client, { $transaction: (run: (tx: Client) => unknown) => run(client) }),
    'It is removed',
    'It is removed',
  ],
  [
    'row-level security of the models, of a client whose queries are not seen',
    (client) =>
      unseen(
        client.$extends({
          query: { $allModels: { $allOperations: ({ args, query }: Asked) => setFirst(client, query(args)) } },
        }),
      ),
    'idempotencyKey.updateMany, asked of tx, did not find the key',
    'idempotencyKey.updateMany, asked of tx, did not find the key',
  ],
];

test.each(OWN)('%s', async (_, extend, plain, own) => {
  for (const way of ['own', 'plain'] as const) {
    vi.stubEnv('POOL', way === 'plain' ? 'plain' : '');
    const client = extend(here.another().client) as Client;
    vi.unstubAllEnvs();
    here.later(() => here.watch.query('DELETE FROM idempotency_keys'));
    const { escapes } = await kit(client).tryClaim();
    const found = way === 'plain' ? plain : own;
    expect([way, escapes]).toEqual([way, found === undefined ? undefined : expect.stringContaining(found)]);
  }
  expect((await here.watch.query('SELECT count(*)::int AS n FROM idempotency_keys')).rows).toEqual([{ n: 0 }]);
});

test('a client with read replicas is told apart, whichever transactions were asked for', async () => {
  for (const transaction of [undefined, 'interactive'] as const) {
    const client = like(here.another().client, { $replica: () => undefined }) as unknown as Client;
    const tried = await kit(client, transaction ? { transaction } : {}).tryClaim();
    expect(tried).toMatchObject({
      transactions: 'interactive',
      whyUnproven: { message: expect.stringContaining('read-replica') },
    });
    expect(tried).not.toHaveProperty('escapes');
  }
});

test('a server that refuses the trial, of which a part stands outside: that is removed, too', async () => {
  const { client } = here.another();
  const open = unseen(client, { $transaction: (run: (tx: Client) => unknown) => run(client) }) as Client;
  const asked = "state = 'succeeded' AND principal = 'nobody'";
  await here.watch.query(`ALTER TABLE idempotency_keys ADD CONSTRAINT refuses CHECK (NOT (${asked}))`);
  here.later(() => here.watch.query('ALTER TABLE idempotency_keys DROP CONSTRAINT refuses'));
  expect(await kit(open).tryClaim()).toMatchObject({ escapes: expect.stringContaining('It is removed') });
  expect((await here.watch.query('SELECT count(*)::int AS n FROM idempotency_keys')).rows).toEqual([{ n: 0 }]);
});
