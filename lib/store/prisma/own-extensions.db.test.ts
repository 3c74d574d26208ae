import { PrismaPg as PlainPg } from '@prisma/adapter-pg';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { expectCounted } from '../../../scripts/testing/expect-counted.ts';
import { type Client, createClient } from '../../../shop/db.ts';
import { createAdmin } from '../../admin/index.ts';
import { anything, freshKey, kit } from '../../integration/kit.fixture.ts';
import { createInbox } from '../../messaging/prisma.ts';
import { ended, stage } from './ambient/ambient.fixture.ts';
import { create, KINDS, replicas } from './extension-kinds.fixture.ts';

/**
 * What the kit's callers come to on clients with extensions of each kind: one effect or a refusal, never two, and no key that nobody
 * goes on with.
 */

const here = stage();

let plain: Client;
let replica: Client;
beforeAll(() => {
  plain = createClient(here.url, { adapter: new PlainPg({ connectionString: here.url, max: 5 }) });
  replica = createClient(here.url, { max: 2 });
});
afterAll(() => Promise.all([plain?.$disconnect(), replica?.$disconnect()]));

interface Way {
  base: () => Client;
  /** Executions are in a transaction of the kit's own. */
  isOwn?: true;
  options?: { transaction: 'interactive' };
  hasReplicas?: true;
  /** By whom alone. */
  callers?: string[];
}
const WAYS: Record<string, Way> = {
  // An erasure is in a transaction of Prisma's here, too: own-client-transactions has it.
  'the kit’s pool': {
    base: () => here.client,
    isOwn: true,
    callers: ['handler', 'first phase', 'second phase', 'inbox'],
  },
  'a pool as Prisma makes it': { base: () => plain },
  "transaction: 'interactive'": {
    base: () => here.client,
    options: { transaction: 'interactive' },
    callers: ['handler'],
  },
  'read replicas': { base: () => here.client, hasReplicas: true, callers: ['handler', 'first phase'] },
};

interface Answer {
  ok: boolean;
  executed?: unknown;
  error?: unknown;
}
type Operation = ReturnType<ReturnType<typeof kit>['operation']>;
type Work = (tx: unknown) => Promise<void>;
/** Makes what does the work once for a key, however often it is called. */
type Caller = (client: Client, key: string, work: Work, options?: Way['options']) => () => Promise<Answer>;

const executing =
  (define: (operation: Operation, work: Work) => { execute(call: object): Promise<Answer> }): Caller =>
  (client, key, work, options) => {
    let error: unknown;
    const idempotency = kit(client, {
      ...options,
      onError: (told) => {
        error = told;
      },
    });
    const operation = define(idempotency.operation({ name: 'extended', schema: anything }) as never, work);
    let attempt = 0;
    return async () => ({ ...(await operation.execute({ key, payload: {}, attempt: ++attempt })), error });
  };

const CALLERS: Record<string, Caller> = {
  handler: executing((operation, work) => operation.handler(({ tx }) => work(tx))),
  'first phase': executing((operation, work) =>
    operation.phases(async ({ atomic }) => {
      await atomic('first', work);
    }),
  ),
  'second phase': executing((operation, work) =>
    operation.phases(async ({ atomic }) => {
      await atomic('first', async () => {});
      await atomic('second', work);
    }),
  ),
  inbox: (client, eventId, work) => {
    const inbox = createInbox({ prisma: client, onReport: () => {} });
    return async () => {
      const received = await inbox.receiveOnce({ source: 'stripe', eventId, payload: {} }, work);
      return { ...received, ok: received.kind === 'processed' || received.kind === 'replayed' };
    };
  },
  erasure: (client, principal, work) => {
    const admin = createAdmin({ prisma: client, onErase: (_, tx) => work(tx) as Promise<undefined> });
    return async () => {
      const error = await ended(admin.erasePrincipal({ tenant: 't', principal }, 'eve'));
      return { ok: !(error instanceof Error), error };
    };
  },
};

/** Rows that the work has written, what the kit has written down as done, and keys that nobody goes on with. */
const left = async (key: string) => {
  const { rows } = await here.watch.query(
    `SELECT (SELECT count(*)::int FROM audit_records WHERE tenant <> 'live') AS written,
            (SELECT count(*)::int FROM idempotency_keys WHERE key = $1 AND state = 'succeeded')
            + (SELECT count(*)::int FROM inbox_events WHERE event_id = $1 AND state = 'processed')
            + (SELECT count(*)::int FROM idempotency_audit WHERE principal = $1 AND type = 'erased') AS done,
            (SELECT count(*)::int FROM idempotency_keys WHERE key = $1 AND state <> 'succeeded'
                AND next_attempt_at IS NULL AND NOT needs_attention) AS held`,
    [key],
  );
  return rows[0];
};

const REFUSAL =
  /would not have been in the transaction of its execution.*Ask tx; in an extension query\(args\).*outside\(/;

describe.each(Object.entries(WAYS))('%s', (_, { base: baseOf, options, hasReplicas, ...way }) => {
  const callers = way.callers ?? Object.keys(CALLERS);
  const cases = Object.entries(KINDS).flatMap(([name, kind]) =>
    callers.filter((caller) => caller !== kind.notBy).map((caller) => ({ name, caller, kind })),
  );
  test.each(cases)('$name, by $caller', async ({ caller, kind }) => {
    const { extension, work = create, refused, rows = 1, isUnknown = hasReplicas } = kind;
    const base = baseOf();
    const extended = base.$extends(extension(base));
    const client = (hasReplicas
      ? extended.$extends(replicas(extended as never, replica) as object)
      : extended) as unknown as Client;
    const isRefused = refused === 'always' || (refused === 'prisma' && !way.isOwn);
    const key = freshKey();
    await here.watch.query('DELETE FROM audit_records');
    await here.watch.query(`INSERT INTO audit_records (action, tenant, principal) VALUES ($1, 'live', 'p')`, [key]);
    let [runs, began] = [0, 0];
    const run: Work = async (tx) => {
      began++;
      await work(tx as never, key);
      if (++runs === 1) throw new Error('boom');
    };
    const call = (CALLERS[caller] as Caller)(client, key, run, options);
    const DONE = { written: rows, done: 1, held: 0 };
    const NOTHING = { written: 0, done: 0, held: 0 };
    const first = await call();
    expectCounted(await left(key)).toEqual(first.ok ? DONE : NOTHING);
    expect(first.ok).toBe(runs === 2); // where the extension has tried again
    if (caller === 'handler' && !first.ok) expect(first.executed).toBe(isUnknown && began > 0 ? 'unknown' : false);
    const second = first.ok ? first : await call();
    expect(second.ok).toBe(!isRefused);
    if (isRefused)
      for (const { error } of [first, second]) expect(`${error} ${(error as Error).cause}`).toMatch(REFUSAL);
    expectCounted(await left(key)).toEqual(second.ok ? DONE : NOTHING);
    if (caller === 'erasure') return;
    expect((await call()).ok).toBe(second.ok);
    expectCounted(await left(key)).toEqual(second.ok ? DONE : NOTHING);
  });
});
