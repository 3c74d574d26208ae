import { pathToFileURL } from 'node:url';
import { afterAll, beforeAll, describe, expect, test, vi } from 'vitest';
import { createAdmin, createMessagesAdmin } from '../../lib/admin/index.ts';
import { anything, effect, freshKey, kit, SECRET } from '../../lib/integration/kit.fixture.ts';
import { createInbox, createOutbox } from '../../lib/messaging/index.ts';
import { cronRoute, issueKey, routeHandler, serverAction, statusRoute } from '../../lib/next/index.ts';
import { silentProxy } from '../../lib/store/prisma/wire/silent-proxy.fixture.ts';
import { PASSES, startWorker } from '../../lib/worker/index.ts';
import { type Client, createClient } from '../../shop/db.ts';
import { bound } from '../testing/patience.ts';
import { type TestDatabase, testDatabase } from '../testing/test-database.ts';
import { publicEntries } from './public-exports.ts';

/**
 * All that the package exports and that asks the database, on connections that say nothing any more, in a network that
 * makes no others: everything ends. A function or a method that is new fails here until it is asked, too.
 */

/** The bounds that the kit has of its own. As they are, the last of them would take two minutes. */
const BOUND_MS = 400;
vi.mock('../../lib/store/prisma/timeouts.ts', async (original) => ({
  ...(await original<object>()),
  ...{ QUESTION_MS: 400, START_MS: 0, BATCH_MS: 400, ERASE_MS: 400 },
}));
const DEADLINE_MS = 300;
const WAIT_MS = 200;
/** Behind a deadline: `deadline.db.test.ts` measures it. */
const GRACE_MS = 250;
/** On a machine that has other things to do. */
const LATE_MS = bound(1500);

let database: TestDatabase;
beforeAll(async () => {
  database = await testDatabase();
  vi.spyOn(console, 'error').mockImplementation(() => {});
});
afterAll(() => database?.drop());

const sink = { name: 'sink', publisher: { publish: async () => {} } };

/** An app on this client. */
function appOn(client: Client) {
  const idempotency = kit(client, { waitMs: WAIT_MS, secret: [SECRET] });
  const place = idempotency
    .operation({ name: 'place', schema: anything, acceptKeys: 'any', timeoutMs: BOUND_MS, maxWaitMs: BOUND_MS })
    .handler(async ({ tx, key }) => await effect(tx, key));
  const pay = idempotency
    .operation({ name: 'pay', schema: anything, acceptKeys: 'any', timeoutMs: BOUND_MS, maxWaitMs: BOUND_MS })
    .phases(async ({ atomic, key }) => await atomic('placed', async (tx) => await effect(tx, key)));
  const outbox = createOutbox({ prisma: client, destinations: [sink] });
  const inbox = createInbox({ prisma: client, sources: { stripe: { handle: async () => {} } }, timeoutMs: BOUND_MS });
  const driven = { ...idempotency, outbox, inbox };
  return {
    idempotency,
    place,
    pay,
    outbox,
    inbox,
    driven,
    admin: createAdmin({ prisma: client }),
    messages: createMessagesAdmin({ outbox, inbox }),
  };
}

type App = ReturnType<typeof appOn>;
type Calls = Record<string, (app: App) => unknown>;

/** How long it may take, at most: several questions one behind the other have a bound each. */
async function endsInSilence(call: (app: App) => unknown, withinMs: number): Promise<unknown> {
  const proxy = await silentProxy(database.url);
  const client = createClient(proxy.url, { max: 2 });
  try {
    const app = appOn(client);
    // The first questions of a client and of its pool take longer than those bounds.
    const isThere = async () =>
      expect(await app.place.execute({ key: freshKey(), payload })).toMatchObject({ ok: true });
    await vi.waitFor(isThere);
    proxy.silence();
    proxy.darken(true);
    let waiting: NodeJS.Timeout | undefined;
    const never = new Promise<never>((_, reject) => {
      waiting = setTimeout(() => reject(new Error('It waits without an end.')), withinMs + LATE_MS);
    });
    try {
      return await Promise.race([Promise.resolve(call(app)).catch((error) => error), never]);
    } finally {
      clearTimeout(waiting);
    }
  } finally {
    proxy.close();
    await client.$disconnect().catch(() => {});
  }
}

const unavailable = expect.objectContaining({ name: 'StoreUnavailableError' });
const id = { tenant: 'acme', principal: 'ann', operation: 'place', key: 'k' };
const seen = { ...id, fencingToken: 1, revision: '' };
const eventId = '0193a1b2-0000-7000-8000-000000000000';
const page = { limit: 1, offset: 0 };
const payload = {};
const how = () => ({ key: freshKey(), payload, deadlineMs: DEADLINE_MS });
const request = (path: string, init?: RequestInit) => new Request(`https://shop.test/api/${path}`, init);
const clock = (task: string) => request(`cron/${task}`, { headers: { authorization: 'Bearer s' } });

/** With a deadline, by what has it. */
const OPERATION: Calls = {
  'place.execute': ({ place }) => place.execute(how()),
  'place.execute, a retry': ({ place }) => place.execute({ ...how(), attempt: 2 }),
  'place.run': ({ place }) => place.run(how()).then(({ outcome }) => outcome),
  'place.status': ({ place }) => place.status(how()),
  'place.fence': ({ place }) => place.fence(how()),
  'pay.execute': ({ pay }) => pay.execute(how()),
  'pay.execute, a retry': ({ pay }) => pay.execute({ ...how(), attempt: 2 }),
};

/** Without one: what the kit and the operation allow. */
const WITHOUT_DEADLINE: Calls = {
  'place.execute': ({ place }) => place.execute({ key: freshKey(), payload }),
  'pay.execute': ({ pay }) => pay.execute({ key: freshKey(), payload }),
  serverAction: ({ place }) => {
    const form = new FormData();
    form.set('idempotency_key', freshKey());
    return serverAction(place)(undefined as never, form as never);
  },
};

const KEYS: Calls = {
  completeDue: ({ idempotency }) => idempotency.completeDue(),
  completeKey: ({ idempotency }) => idempotency.completeKey({ ...id, operation: 'pay' }),
  reap: ({ idempotency }) => idempotency.reap(),
  readSchema: ({ idempotency }) => idempotency.readSchema(),
  tryClaim: ({ idempotency }) => idempotency.tryClaim(),
  lookUpLost: ({ idempotency }) => idempotency.lookUpLost({ ...id, payload }, () => false),
  knownEvents: ({ idempotency }) => idempotency.knownEvents([eventId]),
};
/** They begin something, ask nothing, or ask in the caller's transaction. `gauge` asks when it is collected: `unfinished`. */
const KEYS_ASK_NOTHING = [
  ...[
    'operation',
    'operations',
    'schemaName',
    'explainMissing',
    'setUp',
    'recordEvidence',
    'gauge',
    'errorPages',
    'addressHeader',
    'dropRecent',
  ],
];
const OPERATION_ASKS_NOTHING = [
  ...[
    'name',
    'volatile',
    'acceptKeys',
    'durability',
    'errorPages',
    'addressHeader',
    'explainMissing',
    'mintKey',
    'whoActs',
    'report',
    'as',
  ],
];

const OUTBOX: Calls = {
  relayDue: ({ outbox }) => outbox.relayDue(),
  requeue: ({ outbox }) => outbox.requeue({ destination: 'sink', eventId }, 'eve'),
  requeueAll: ({ outbox }) => outbox.requeueAll('sink', 'eve'),
  skip: ({ outbox }) => outbox.skip({ destination: 'sink', eventId }, 'eve'),
  abandon: ({ outbox }) => outbox.abandon('sink', 'eve'),
  resume: ({ outbox }) => outbox.resume('sink', 'eve'),
  stops: ({ outbox }) => outbox.stops(),
  list: ({ outbox }) => outbox.list(page),
  find: ({ outbox }) => outbox.find(eventId),
  open: ({ outbox }) => outbox.open(),
  reap: ({ outbox }) => outbox.reap(),
};
const OUTBOX_ASKS_NOTHING = ['destinations', 'enqueue', 'gauge', 'close'];

const INBOX: Calls = {
  receiveOnce: ({ inbox }) => inbox.receiveOnce({ source: 'stripe', eventId: 'evt', payload }),
  retryDue: ({ inbox }) => inbox.retryDue(),
  requeue: ({ inbox }) => inbox.requeue({ source: 'stripe', eventId: 'evt' }, 'eve'),
  list: ({ inbox }) => inbox.list(page),
  find: ({ inbox }) => inbox.find({ source: 'stripe', eventId: 'evt' }),
  open: ({ inbox }) => inbox.open(),
  reap: ({ inbox }) => inbox.reap(),
};
const INBOX_ASKS_NOTHING = ['sources', 'handled', 'gauge'];

const ADMIN: Calls = {
  overview: ({ admin }) => admin.overview(),
  promises: ({ admin }) => admin.promises(),
  outcomes: ({ admin }) => admin.outcomes(new Date()),
  listKeys: ({ admin }) => admin.listKeys(page),
  findKey: ({ admin }) => admin.findKey(id),
  audit: ({ admin }) => admin.audit(page),
  resolve: ({ admin }) => admin.resolve(seen, { kind: 'failed' }, 'eve'),
  retryNow: ({ admin }) => admin.retryNow(seen, 'eve'),
  release: ({ admin }) => admin.release(seen, 'eve'),
  fence: ({ admin }) => admin.fence(id, 'eve'),
  forget: ({ admin }) => admin.forget(seen, 'eve'),
  acknowledge: ({ admin }) => admin.acknowledge(seen, 'eve'),
  erasePrincipal: ({ admin }) => admin.erasePrincipal({ tenant: 'acme', principal: 'ann' }, 'eve'),
  record: ({ admin }) => admin.record({ type: 'seen', actor: 'eve' }),
};

const OUTBOX_ADMIN: Calls = {
  overview: ({ messages }) => messages.outbox?.overview(),
  list: ({ messages }) => messages.outbox?.list(page),
  find: ({ messages }) => messages.outbox?.find(eventId),
  requeue: ({ messages }) => messages.outbox?.requeue({ destination: 'sink', eventId }, 'eve'),
  requeueAll: ({ messages }) => messages.outbox?.requeueAll('sink', 'eve'),
  skip: ({ messages }) => messages.outbox?.skip({ destination: 'sink', eventId }, 'eve'),
  abandon: ({ messages }) => messages.outbox?.abandon('sink', 'eve'),
  resume: ({ messages }) => messages.outbox?.resume('sink', 'eve'),
};
const INBOX_ADMIN: Calls = {
  overview: ({ messages }) => messages.inbox?.overview(),
  list: ({ messages }) => messages.inbox?.list(page),
  find: ({ messages }) => messages.inbox?.find({ source: 'stripe', eventId: 'evt' }),
  requeue: ({ messages }) => messages.inbox?.requeue({ source: 'stripe', eventId: 'evt' }, 'eve'),
};

const RUN_ONCE: Calls = Object.fromEntries(
  Object.keys(PASSES).map((pass) => [pass, ({ driven }: App) => PASSES[pass]?.(driven)]),
);

/** Exports that answer over HTTP, with a status. */
const ROUTES: Calls = {
  statusRoute: ({ place }) => statusRoute([place]).GET(request('idempotency/place/k')),
  'statusRoute, DELETE': ({ place }) =>
    statusRoute([place]).DELETE(request('idempotency/place/k', { method: 'DELETE' })),
  routeHandler: ({ place }) =>
    routeHandler(place)(
      request('orders', {
        method: 'POST',
        body: '{}',
        headers: {
          'Content-Type': 'application/json',
          'Idempotency-Key': freshKey(),
          'X-Request-Timeout': String(DEADLINE_MS),
        },
      }),
    ),
  cronRoute: ({ driven }) => cronRoute(driven, { secret: 's' }).GET(clock('complete')),
};

/** Which exports ask the database, through what is asked above; the others ask nothing, or in a transaction they are given. */
const ASKING: Record<string, readonly string[]> = {
  oncekit: ['createIdempotency'],
  'oncekit/next': [serverAction, routeHandler, statusRoute, cronRoute].map(({ name }) => name),
  'oncekit/messaging': [createOutbox, createInbox].map(({ name }) => name),
  'oncekit/worker': ['PASSES', ...Object.keys(PASSES), startWorker.name],
  'oncekit/admin': [createAdmin, createMessagesAdmin].map(({ name }) => name),
};
const ASKING_NOTHING: Record<string, readonly string[]> = {
  oncekit: [
    ...['ADVICE', 'BadPayloadError', 'ConfigurationError', 'ExecutionClosedError', 'IdempotencyError', 'KEY_STATES'],
    ...[
      'LeaseLostError',
      'derivedId',
      'enteredValues',
      'isUnavailable',
      'oncekitPool',
      'outside',
      'notExecuted',
      'refuse',
      'refused',
      'secretProblems',
    ],
    ...['serializeOn', 'sqlOf'],
  ],
  'oncekit/next': ['IdempotentForm', 'problemResponse', 'readBody', 'readBytes', issueKey.name, 'rollbackAndRedirect'],
  'oncekit/messaging': [
    ...['RELAY_TASK', 'EventError', 'isPublicAddress', 'PublishError'],
    ...['SignatureError', 'signWebhook', 'verifyWebhook', 'webhook'],
  ],
  'oncekit/worker': ['line', 'enqueueJob'],
  'oncekit/admin': ['TALLIED', 'joinTransaction'],
};
/** They have no database: browsers, clients of HTTP, tests of others; and the pool's adapter, which is Prisma's. */
const ENTRIES_WITHOUT = ['oncekit/react', 'oncekit/http', 'oncekit/testing', 'oncekit/adapter-pg', 'oncekit/stripe'];

describe('each is asked here', () => {
  test('of what the entries export', async () => {
    expect([...publicEntries().keys()].sort()).toEqual([...Object.keys(ASKING), ...ENTRIES_WITHOUT].sort());
    for (const [entry, file] of publicEntries()) {
      if (ENTRIES_WITHOUT.includes(entry)) continue;
      const module: object = await import(pathToFileURL(file).href);
      const known = [...(ASKING[entry] ?? []), ...(ASKING_NOTHING[entry] ?? [])];
      expect({ entry, names: Object.keys(module).sort() }).toEqual({ entry, names: known.sort() });
    }
  });

  test('of the methods of what they make', () => {
    const { idempotency, place, outbox, inbox, admin, messages } = appOn(database.client);
    const asked = [...new Set(Object.keys(OPERATION).map((call) => call.replace(/^\w+\.|,.*$/g, '')))];
    const methods: [object | undefined, string[]][] = [
      [idempotency, [...Object.keys(KEYS), ...KEYS_ASK_NOTHING]],
      [place, [...asked, ...OPERATION_ASKS_NOTHING]],
      [outbox, [...Object.keys(OUTBOX), ...OUTBOX_ASKS_NOTHING]],
      [inbox, [...Object.keys(INBOX), ...INBOX_ASKS_NOTHING]],
      [admin, Object.keys(ADMIN)],
      [messages, ['outbox', 'inbox']],
      [messages.outbox, Object.keys(OUTBOX_ADMIN)],
      [messages.inbox, Object.keys(INBOX_ADMIN)],
    ];
    for (const [made, known] of methods) expect(Object.keys(made ?? {}).sort()).toEqual(known.sort());
  });
});

describe('a database that has gone silent', () => {
  test.concurrent.each(Object.entries(OPERATION))('%s ends at its deadline', async (_, call) => {
    expect(await endsInSilence(call, DEADLINE_MS + GRACE_MS)).toMatchObject({ ok: false, code: 'unavailable' });
  });

  // The transaction's own time, the wait for a connection, and the 2 s of a connection that says nothing any more.
  test.concurrent.each(Object.entries(WITHOUT_DEADLINE))('%s ends without one', async (_, call) => {
    expect(await endsInSilence(call, 6 * BOUND_MS + 2 * 2000)).toMatchObject({ ok: false, code: 'unavailable' });
  });

  const groups = { idempotency: KEYS, outbox: OUTBOX, admin: ADMIN, OUTBOX_ADMIN, INBOX_ADMIN, RUN_ONCE };
  const named = Object.entries(groups).flatMap(([group, calls]) =>
    Object.entries(calls).map(([name, call]): [string, Calls[string]] => [`${group}.${name}`, call]),
  );
  test.concurrent.each(named)('%s says that it cannot be asked', async (_, call) => {
    expect(await endsInSilence(call, 2 * BOUND_MS)).toEqual(unavailable);
  });

  test.concurrent.each(Object.entries(INBOX))('inbox.%s says that it cannot be asked', async (_, call) => {
    expect(await endsInSilence(call, 2 * BOUND_MS + 2 * 2000)).toEqual(unavailable);
  });

  test.concurrent.each(Object.entries(ROUTES))('%s answers', async (_, call) => {
    const answer = (await endsInSilence(call, 5000 + GRACE_MS)) as Response;
    expect(answer.status).toBe(503);
  });

  test('a worker begins, and is stopped', async () => {
    const said = await endsInSilence(
      async ({ driven }) => {
        const proxy = await silentProxy(database.url);
        proxy.darken(true);
        const letter = async () => {};
        const { idempotency, ...messaging } = { idempotency: driven, ...driven };
        const worker = startWorker({
          idempotency,
          outbox: messaging.outbox,
          inbox: messaging.inbox,
          connectionString: proxy.url,
          tasks: { letter },
          graceMs: 100,
          log: () => {},
        });
        await worker.stop();
        proxy.close();
        return 'stopped';
      },
      100 + 2000 + 1000,
    );
    expect(said).toBe('stopped');
  });
});
