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
    'idempotencyKey.deleteMany would not',
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
  [
    'a $transaction of its own',
    (client) => {
      const begin = client.$transaction.bind(client) as (...args: unknown[]) => unknown;
      return like(client, { $transaction: (...args: unknown[]) => begin(...args) });
    },
    undefined,
  ],
  [
    'a $transaction that is none',
    (client) => like(client, { $transaction: (run: (tx: Client) => unknown) => run(client) }),
    "A statement of the kit's would not",
    "A statement of the kit's would not",
  ],
  [
    'a $transaction that is none, of a client whose queries are not seen',
    (client) => {
      const { dataloader } = (client as unknown as { _requestHandler: { dataloader: Record<string, never> } })
        ._requestHandler;
      const { singleLoader } = dataloader.options as unknown as { singleLoader: (asked: unknown) => unknown };
      Object.assign(dataloader, { request: (asked: unknown) => singleLoader(asked) });
      const parts: Record<string, unknown> = {
        _originalClient: undefined,
        $transaction: (run: (tx: Client) => unknown) => run(client),
      };
      return new Proxy(client, {
        get: (own, name) => (name in parts ? parts[name as string] : Reflect.get(own, name)),
      });
    },
    'It is removed',
    'It is removed',
  ],
];

test.each(OWN)('%s', async (_, extend, plain, own) => {
  for (const way of ['own', 'plain'] as const) {
    vi.stubEnv('POOL', way === 'plain' ? 'plain' : '');
    const client = extend(here.another().client) as Client;
    vi.unstubAllEnvs();
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
