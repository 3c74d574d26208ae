import { PrismaPg as PlainPg } from '@prisma/adapter-pg';
import { createIdempotency, oncekitPool } from 'oncekit';
import { PrismaPg } from 'oncekit/adapter-pg';
import pg from 'pg';
import { afterAll, afterEach, beforeAll, expect, test, vi } from 'vitest';
import { type TestDatabase, testDatabase } from '../../../scripts/testing/test-database.ts';
import { type Client, createClient } from '../../../shop/db.ts';
import { folders, ready } from '../app/app.fixture.ts';
import { examine } from './doctor.ts';

// A client's pool shows only in where its queries arrive, so each client here is a real one.

const made = folders();
let database: TestDatabase;
beforeAll(async () => {
  database = await testDatabase();
});
afterAll(async () => {
  made.remove();
  await database?.drop();
});
afterEach(() => vi.unstubAllEnvs());

const ADAPTERS = {
  "the kit's": () => new PrismaPg(database.url),
  "Prisma's": () => new PlainPg(database.url),
  "Prisma's on a wrapped pool": () =>
    new PlainPg(oncekitPool(new pg.Pool({ connectionString: database.url })), { disposeExternalPool: true }),
};

interface ClientCase {
  adapter: keyof typeof ADAPTERS;
  asked?: 'interactive';
  extend?: (client: Client) => unknown;
}

async function look({ adapter, asked, extend = (client) => client }: ClientCase) {
  vi.stubEnv('DATABASE_URL', database.url);
  vi.stubEnv('DIRECT_URL', '');
  const client = createClient(database.url, { adapter: ADAPTERS[adapter]() });
  try {
    const idempotency = createIdempotency({
      prisma: extend(client) as Client,
      ...(asked ? { transaction: asked } : {}),
    });
    const app = { idempotency, outbox: undefined, inbox: undefined, operations: [{ name: 'checkout' }] };
    const findings = await examine(made.of(ready()), {}, async () => app);
    return findings.filter(({ check }) => check === 'Transaction');
  } finally {
    await client.$disconnect();
  }
}

test.each<ClientCase>([
  { adapter: "the kit's" },
  { adapter: "Prisma's on a wrapped pool" },
  {
    adapter: "the kit's",
    extend: (client) => client.$extends({ query: { $allOperations: ({ args, query }) => query(args) } }),
  },
])('a client with $adapter adapter: a transaction of the kit', async (looked) => {
  expect(await look(looked)).toEqual([
    {
      check: 'Transaction',
      level: 'ok',
      says: "The kit's own, which whatever a handler asks of the client is part of.",
    },
  ]);
});

test("a client with Prisma's adapter: what is lost, and the one line that mends it", async () => {
  const [found, ...rest] = await look({ adapter: "Prisma's" });
  expect(found).toMatchObject({ level: 'warning', says: expect.stringContaining("Prisma's interactive one") });
  expect(found?.fix).toContain("PrismaPg from 'oncekit/adapter-pg'");
  expect(rest).toEqual([]);
});

test('a client with a $transaction of its own: said, with what to do', async () => {
  const own = (client: Client) =>
    client.$extends({
      client: { $transaction: (...args: never[]) => (client.$transaction as (...all: never[]) => unknown)(...args) },
    });
  const [found] = await look({ adapter: "the kit's", extend: own });
  expect(found).toMatchObject({ level: 'warning', says: expect.stringContaining('$transaction of its own') });
});

test.each<ClientCase & { of: string; says: string; fix: string }>([
  {
    of: 'read replicas',
    adapter: "the kit's",
    extend: (client) => client.$extends({ client: { $replica: () => client } }),
    says: 'With the read-replica extension queries leave for other servers',
    fix: 'Use a client without it for createIdempotency.',
  },
  {
    of: 'insides that the kit does not know',
    adapter: "Prisma's",
    extend: (client) =>
      new Proxy(client, {
        get: (given, name) => (name === '_originalClient' ? undefined : Reflect.get(given, name)),
      }),
    says: 'The kit does not know this client',
    fix: 'Use a client of Prisma 7 that PrismaClient has made.',
  },
])('a client with $of: what a failure is answered as, whichever transactions were asked for', async (looked) => {
  for (const asked of [undefined, 'interactive'] as const) {
    const found = await look({ ...looked, ...(asked && { asked }) });
    expect(found).toEqual([
      { check: 'Transaction', level: 'warning', says: expect.stringContaining(looked.says), fix: looked.fix },
    ]);
    expect(found[0]?.says).toMatch(/a handler that fails is answered as unknown, never as not executed\.$/);
    expect(found[0]?.says).not.toContain('is refused');
  }
});

test('a set-up that asks for the interactive one is told that it has it', async () => {
  for (const adapter of ["the kit's", "Prisma's"] as const) {
    expect(await look({ adapter, asked: 'interactive' })).toMatchObject([
      { level: 'ok', says: expect.stringContaining('as createIdempotency is told') },
    ]);
  }
});
