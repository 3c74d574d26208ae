import { Prisma } from '@prisma/client/extension';
import type { Client } from '../../../shop/db.ts';
import { isRead } from './client.ts';

/** The kinds of extensions that Prisma's documentation names. */

const data = (action: string) => ({ data: { action, tenant: 't', principal: 'p' } });

interface Query {
  model?: string;
  operation: string;
  args: unknown;
  query: (args: unknown) => PromiseLike<unknown>;
}
type Run = (tx: unknown) => Promise<unknown>;
type Begin = (run: Run, options?: object) => Promise<unknown>;
type Method = (args: unknown) => PromiseLike<unknown>;
type Models = Record<string, Record<string, Method>>;

const setTenant = (db: Pick<Client, '$executeRaw'>) => db.$executeRaw`SELECT set_config('app.tenant', 'acme', TRUE)`;
const inList =
  (base: Client) =>
  async ({ args, query }: Query) =>
    (await base.$transaction([setTenant(base), query(args) as ReturnType<typeof setTenant>]))[1];
const inFunction =
  (base: Client) =>
  ({ args, query }: Query) =>
    base.$transaction(async (tx) => {
      await setTenant(tx);
      return await query(args);
    });
/** As it is written where the query is to be in the transaction that the extension begins. */
const byItsTx =
  (base: Client) =>
  ({ model, operation, args }: Query) =>
    base.$transaction(async (tx) => {
      await setTenant(tx);
      const name = (model as string)[0]?.toLowerCase() + (model as string).slice(1);
      return await (tx as unknown as Models)[name]?.[operation]?.(args);
    });
const nextTick = () => new Promise((resolve) => setImmediate(resolve));

/** As @prisma/extension-read-replicas makes it. */
export const replicas = (base: Client, replica: Client) => ({
  client: {
    $primary(this: object) {
      return '$transaction' in Prisma.getExtensionContext(this) ? base : Prisma.getExtensionContext(this);
    },
    $replica: () => replica,
  },
  query: {
    $allOperations({ model, operation, args, query, ...more }: Query) {
      const { transaction } = (more as { __internalParams: { transaction?: object } }).__internalParams;
      if (transaction || !(isRead(operation) || operation.startsWith('$queryRaw'))) return query(args);
      const found = model ? (replica as unknown as Models)[model] : (replica as unknown as Record<string, Method>);
      return found?.[operation]?.(args);
    },
  },
});

/** A client's own `$transaction`, made of that of the client under it. */
const transacting = (own: (begin: Begin, base: Client) => Begin) => (base: Client) => ({
  client: { $transaction: own(base.$transaction.bind(base) as unknown as Begin, base) },
});

interface Kind {
  /** What `$extends` is given. */
  extension: (base: Client) => object;
  /** What the caller's work does in its transaction: one row of `key`. */
  work?: (tx: never, key: string) => PromiseLike<unknown>;
  /** It goes past `tx`, so it is refused in a transaction of Prisma's; or everywhere. */
  refused?: 'prisma' | 'always';
  /** How many rows there are where it took place; one, if nothing is said. */
  rows?: number;
  /** It hides what became of the transaction. */
  isUnknown?: true;
  /** By whom it is not tried. */
  notBy?: string;
  /** Left out: all. */
  callers?: string[];
}

export const create = (tx: Client, key: string) => tx.auditRecord.create(data(key));
const stamp = ({ args, query }: { args: ReturnType<typeof data>; query: Query['query'] }) =>
  query({ ...args, data: { ...args.data, principal: 'stamped' } });
const queries = ($allOperations: (query: Query) => unknown) => ({ query: { $allOperations } });
const models = ($allOperations: (query: Query) => unknown) => ({ query: { $allModels: { $allOperations } } });
type WithMethods = { auditRecord: { note(key: string): Promise<unknown> }; $note(key: string): Promise<unknown> };

export const KINDS: Record<string, Kind> = {
  'query, of one model': { extension: () => ({ query: { auditRecord: { create: stamp } } }) },
  'query, of $allModels, that awaits something first': {
    extension: () => models(async ({ args, query }) => nextTick().then(() => query(args))),
  },
  'query, of $allOperations, that awaits something first': {
    extension: () => queries(async ({ args, query }) => nextTick().then(() => query(args))),
  },
  'query, that asks the captured client to read first': {
    extension: (base) =>
      models(async ({ operation, args, query }) => {
        if (!isRead(operation)) await base.product.count();
        return await query(args);
      }),
  },
  'query, that writes a log by the captured client': {
    extension: (base) => ({
      query: {
        auditRecord: {
          create: ({ args, query }: Query) => create(base, 'log').then(() => query(args)),
        },
      },
    }),
    rows: 2,
    refused: 'prisma',
  },
  'query, that tries once more': {
    extension: () => models(({ args, query }) => Promise.resolve(query(args)).catch(() => query(args))),
  },
  result: {
    extension: () => ({
      result: { auditRecord: { loud: { needs: { action: true }, compute: (row: { action: string }) => row.action } } },
    }),
  },
  'model, by its context': {
    extension: () => ({
      model: {
        auditRecord: {
          note(this: object, key: string) {
            return (Prisma.getExtensionContext(this) as unknown as Client['auditRecord']).create(data(key));
          },
        },
      },
    }),
    work: (tx: WithMethods, key) => tx.auditRecord.note(key),
  },
  'model, by the captured client': {
    extension: (base) => ({ model: { auditRecord: { note: (key: string) => create(base, key) } } }),
    work: (tx: WithMethods, key) => tx.auditRecord.note(key),
    refused: 'prisma',
  },
  'client, by its context': {
    extension: () => ({
      client: {
        $note(this: object, key: string) {
          return create(Prisma.getExtensionContext(this) as Client, key);
        },
      },
    }),
    work: (tx: WithMethods, key) => tx.$note(key),
  },
  'client, by the captured client': {
    extension: (base) => ({ client: { $note: (key: string) => create(base, key) } }),
    work: (tx: WithMethods, key) => tx.$note(key),
    refused: 'prisma',
  },
  'row-level security, of $allModels, by a list': {
    extension: (base) => models(inList(base)),
    refused: 'prisma',
  },
  'row-level security, of $allOperations, by a list': {
    extension: (base) => queries(inList(base)),
    refused: 'prisma',
  },
  'row-level security, by a function around query(args)': {
    extension: (base) => models(inFunction(base)),
    refused: 'prisma',
  },
  'row-level security, of $allOperations, by a function around query(args)': {
    extension: (base) => queries(inFunction(base)),
    refused: 'prisma',
  },
  'row-level security, by the tx of a function': { extension: (base) => models(byItsTx(base)), refused: 'prisma' },
  'soft delete': {
    extension: (base) => ({
      query: {
        auditRecord: {
          delete: ({ args }: { args: { where: { id: bigint } } }) =>
            base.auditRecord.update({ where: args.where, data: { tenant: 'deleted' } }),
        },
      },
    }),
    work: async (tx: Client, key) => {
      const found = await tx.auditRecord.findFirst({ where: { action: key, tenant: 'live' } });
      return found && tx.auditRecord.delete({ where: { id: found.id } });
    },
    refused: 'prisma',
  },
  '$transaction, that sets something first': {
    extension: transacting(
      (begin) => (run, options) =>
        begin(async (tx) => {
          await setTenant(tx as Client);
          return await run(tx);
        }, options),
    ),
  },
  '$transaction, that tries once more': {
    extension: transacting((begin) => (run, options) => begin(run, options).catch(() => begin(run, options))),
  },
  '$transaction, that swallows an error': {
    extension: transacting((begin) => (run, options) => begin(run, options).catch(() => undefined)),
  },
  '$transaction, that gives the client itself': {
    extension: transacting((begin, base) => (run, options) => begin(() => run(base), options)),
    refused: 'always',
  },
  '$transaction, that begins none': {
    extension: transacting((_, base) => (run) => run(base)),
    refused: 'always',
  },
};
