import { readFileSync } from 'node:fs';
import path from 'node:path';
import { compileFunction } from 'node:vm';
import { PrismaPg as PlainPg } from '@prisma/adapter-pg';
import { transformSync } from 'esbuild';
import * as oncekit from 'oncekit';
import * as adapter from 'oncekit/adapter-pg';
import { createOutbox } from 'oncekit/messaging';
import { afterAll, afterEach, beforeAll, describe, expect, test, vi } from 'vitest';
import * as zod from 'zod';
import { appRole, type TestDatabase, testDatabase } from '../../scripts/testing/test-database.ts';
import { type Client, createClient } from '../../shop/db.ts';
import { joinTransaction } from '../admin/index.ts';
import { Provider } from '../engine/phases/phases.fixture.ts';
import { anything, freshKey, kit } from './kit.fixture.ts';

/** Runs docs/row-level-security.md as it is printed, on both ways, as a user that owns no table. */

const page = readFileSync(path.resolve(import.meta.dirname, '../../docs/row-level-security.md'), 'utf8');
const blocks = (lang: string) =>
  [...page.matchAll(new RegExp(`\`\`\`${lang}\\n(.*?)\`\`\``, 'gs'))].map(([, text]) => `${text}`);

/** Roles belong to the whole server: this one is the file's own. */
const role = `tenant_${crypto.randomUUID().replaceAll('-', '')}`;
/** A role without rights. */
const bare = `${role}_bare`;
const named = (text: string) => text.replaceAll('shop_tenant', role).replace(/\bshop\b/g, appRole);

let database: TestDatabase;
let appUrl: string;
beforeAll(async () => {
  database = await testDatabase({ ownsTables: true });
  appUrl = Object.assign(new URL(database.url), { username: appRole, password: appRole }).href;
  for (const text of blocks('sql')) {
    for (const statement of named(text).split(';')) {
      if (statement.trim()) await database.client.$executeRawUnsafe(statement);
    }
  }
  await database.client.$executeRawUnsafe(`CREATE ROLE ${bare}`);
  await database.client.$executeRawUnsafe(`GRANT ${bare} TO ${appRole}`);
});
afterAll(async () => {
  await database?.client.$executeRawUnsafe(`DROP OWNED BY ${role}, ${bare}`);
  await database?.client.$executeRawUnsafe(`DROP ROLE ${role}, ${bare}`);
  await database?.drop();
});

afterEach(() => void vi.restoreAllMocks());

const order = (tenant: string) => ({
  id: crypto.randomUUID(),
  tenant,
  principal: 'ann',
  sku: 'mug',
  quantity: 1,
  amountCents: 100,
  status: 'pending',
  paymentMethod: 'pm',
  source: 'api',
});
const orders = (tenant: string) => database.client.order.count({ where: { tenant } });
const keys = (key: string) => database.client.idempotencyKey.findMany({ where: { key } });
const as = (tenant: string) => ({ tenant, principal: 'ann' });

/** Runs a file of the page, with its imports as they are given. */
function fileOf(text: string, imports: Record<string, object>): Record<string, unknown> {
  const { code } = transformSync(named(text), { loader: 'ts', format: 'cjs' });
  const module = { exports: {} };
  const found = (id: string) => imports[id] ?? { oncekit, zod }[id];
  compileFunction(code, ['require', 'module', 'exports'])(found, module, module.exports);
  return module.exports;
}

describe.each([
  ['the kit’s own transactions', adapter.PrismaPg, true],
  ['Prisma’s', PlainPg, false],
] as const)('in %s', (_name, Adapter, isOwn) => {
  let client: Client;
  beforeAll(() => {
    client = createClient(appUrl, { adapter: new Adapter({ connectionString: appUrl, max: 2 }) });
  });
  afterAll(() => client?.$disconnect());

  const begin = ({ scope }: { scope: { tenant: string } }) => ({ role, settings: { 'app.tenant': scope.tenant } });
  const here = (options: Partial<Parameters<typeof createOn>[0]> = {}) => createOn({ begin, ...options });
  const createOn = (options: Parameters<typeof kit>[1]) => kit(client, options);

  /** The page's two files, on this client. */
  function pages() {
    const [setUp = '', handler = ''] = blocks('ts');
    const imports = { '@/lib/prisma': { prisma: client }, '@/lib/visitor': { currentVisitor: () => as('one') } };
    const idempotency = fileOf(setUp, imports);
    return fileOf(handler, { ...imports, '@/lib/idempotency': idempotency }) as {
      checkout: ReturnType<ReturnType<typeof kit>['operation']>['handler'] extends (...args: never) => infer Op
        ? Op
        : never;
    };
  }

  test('the page: an order of one’s own tenant is placed, and another tenant’s is refused, whole', async () => {
    vi.spyOn(console, 'error').mockImplementation(() => {});
    const { checkout } = pages();
    const tenant = `page-${isOwn}`;
    const [key, forged] = [freshKey(), freshKey()];
    const placed = await checkout.execute({ key, payload: order(tenant), scope: as(tenant) });
    expect(placed).toMatchObject({ ok: true, data: { seen: isOwn ? 1 : 0 } });
    for (const attempt of [1, 2]) {
      const refused = await checkout.execute({ key: forged, payload: order('victim'), scope: as(tenant), attempt });
      expect(refused).toMatchObject({ ok: false, code: 'internal', executed: false });
    }
    expect([await orders(tenant), await orders('victim')]).toEqual([1, 0]);
    expect([await keys(key), await keys(forged)]).toMatchObject([[{ state: 'succeeded' }], []]);
    expect(await checkout.execute({ key, payload: placed, scope: as('other') })).not.toMatchObject({ replayed: true });
  });

  test('what a role may not see is not found, not updated and not deleted; beside it another tenant does its own', async () => {
    const [mine, theirs] = [order(`mine-${isOwn}`), order(`theirs-${isOwn}`)];
    await database.client.order.createMany({ data: [mine, theirs] });
    const operation = here()
      .operation({ name: 'touch', schema: anything })
      .handler(async ({ tx }) => ({
        seen: (await tx.order.findMany({ select: { id: true } })).map(({ id }) => id),
        updated: (await tx.order.updateMany({ data: { email: 'ann@example.com' } })).count,
        raw: await tx.$executeRaw`UPDATE orders SET source = source`,
        deleted: (await tx.order.deleteMany({ where: { id: theirs.id } })).count,
      }));
    const both = [mine, theirs].map(({ tenant }) =>
      operation.execute({ key: freshKey(), payload: {}, scope: as(tenant) }),
    );
    expect((await Promise.all(both)).map((outcome) => outcome.ok && outcome.data)).toEqual([
      { seen: [mine.id], updated: 1, raw: 1, deleted: 0 },
      { seen: [theirs.id], updated: 1, raw: 1, deleted: 1 },
    ]);
  });

  test('S7 role and settings end with the transaction, committed or not; what stands outside is the user’s own', async () => {
    const who = async (db: Pick<Client, '$queryRaw'>) =>
      (
        await db.$queryRaw<object[]>`SELECT current_user::text AS role, current_setting('app.tenant', true) AS tenant`
      )[0];
    const seen: unknown[] = [];
    const operation = here()
      .operation({ name: 'who', schema: anything })
      .handler(async ({ tx, afterCommit, key }) => {
        seen.push(
          await who(tx),
          await tx.$transaction((nested) => who(nested as never)),
          await oncekit.outside(() => who(client)),
        );
        afterCommit(async () => void seen.push(await who(client)));
        if (key.endsWith('throws')) throw new Error('rolled back');
        return null;
      });
    const [inside, outside] = [{ role, tenant: 'one' }, expect.objectContaining({ role: appRole })];
    for (const key of [freshKey(), `${freshKey()}-throws`]) {
      await operation.execute({ key, payload: {}, scope: as('one') });
      const behind = await Promise.all([who(client), who(client), who(client)]);
      for (const found of behind) expect(found).not.toMatchObject({ tenant: 'one' });
      seen.push(...behind);
    }
    const behind = [outside, outside, outside];
    expect(seen).toEqual([inside, inside, outside, outside, ...behind, inside, inside, outside, ...behind]);
  });

  test('the rights of the page are enough: things, refusals, events of an outbox, answers that are made again', async () => {
    const tenant = `rights-${isOwn}`;
    const outbox = createOutbox({
      prisma: client,
      destinations: [{ name: 'sink', publisher: { publish: async () => {} } }],
    });
    const id = here();
    const options = { name: 'order', schema: anything, oncePer: () => 'the thing', onRefused: async () => {} };
    const place = id.operation(options).handler(async ({ tx, key, scope, fail, input }) => {
      await tx.order.create({ data: order(tenant) });
      await outbox.enqueue(tx, { aggregate: key, type: 'placed', payload: {} }, { key, scope });
      return input.refuse ? fail('sold_out') : 'placed';
    });
    const run = (key: string, payload = {}) => place.execute({ key, payload, scope: as(tenant) });
    expect(await run(freshKey(), { refuse: true })).toMatchObject({ code: 'failed', reason: 'sold_out' });
    expect(await run(freshKey())).toMatchObject({ ok: true, data: 'placed', replayed: false });
    expect(await run(freshKey())).toMatchObject({ ok: true, data: 'placed', replayed: true });

    const set = (schemaVersion: number) =>
      here()
        .operation({ name: 'set', schema: anything, naturallyIdempotent: true, schemaVersion })
        .handler(async ({ tx }) => ({ version: schemaVersion, seen: await tx.order.count() }));
    const key = freshKey();
    for (const version of [1, 2]) {
      expect(await set(version).execute({ key, payload: {}, scope: as(tenant) })).toMatchObject({
        data: { version, seen: 2 },
      });
    }
  });

  test('S7 phases, and the worker that finishes them, act as the tenant of the key', async () => {
    const tenant = `phases-${isOwn}`;
    const provider = new Provider();
    provider.faults = ['after'];
    const seen: unknown[] = [];
    const define = (idempotency: ReturnType<typeof here>) =>
      idempotency
        .operation({ name: 'pay', schema: anything })
        .phases(async ({ atomic, foreign, key, scope, input, fail }) => {
          const placed = await atomic('place', async (tx) => (await tx.order.create({ data: order(scope.tenant) })).id);
          const { id } = await foreign('charge', provider.call(placed));
          await atomic('paid', async (tx) => {
            const { count } = await tx.order.updateMany({ data: { paymentIntent: `${tenant} ${id}`, status: 'paid' } });
            seen.push([count, await tx.$queryRaw`SELECT current_user::text AS role`]);
          });
          return input.refuse ? fail('gone') : key;
        });
    await database.client.order.create({ data: order(`beside-${isOwn}`) });
    const key = freshKey();
    const asked = await define(here()).execute({ key, payload: {}, scope: as(tenant), innerRetries: false });
    expect(asked).toMatchObject({ ok: false });
    // The worker has a kit of its own, in which nobody acts.
    const worker = here({ scope: () => null });
    define(worker);
    await database.client
      .$executeRaw`UPDATE idempotency_keys SET next_attempt_at = now(), lease_until = now() WHERE key = ${key}`;
    await worker.completeDue();
    expect(seen).toEqual([[1, [{ role }]]]);
    expect([await keys(key), await orders(tenant)]).toMatchObject([[{ state: 'succeeded' }], 1]);
    // A refusal behind a charge, which is recorded for a person.
    const refused = freshKey();
    await define(here()).execute({ key: refused, payload: { refuse: true }, scope: as(`${tenant}-refused`) });
    expect(await keys(refused)).toMatchObject([{ state: 'failed', needsAttention: true }]);
  });

  test.each<[string, object | (() => Promise<object>) | undefined, string]>([
    ['a role that is not there', { role: 'nobody_at_all' }, 'nobody_at_all'],
    ['a role that the user is no member of', { role: 'pg_execute_server_program' }, 'pg_execute_server_program'],
    ['a role without the page’s rights', { role: bare }, 'idempotency_keys'],
    ['a setting of PostgreSQL’s own', { settings: { search_path: 'elsewhere' } }, 'with a dot'],
    ['the role by another name', { role, settings: { ROLE: 'none' } }, 'with a dot'],
    ['a setting of the kit’s', { settings: { 'oncekit.reruns': 'on' } }, 'with a dot'],
    ['a name that is none', { settings: { "app.x'; --": 'x' } }, 'with a dot'],
    ['settings that were not found', { settings: undefined }, 'settings'],
    ['an empty tenant', { settings: { 'app.tenant': '' } }, 'app.tenant'],
    [
      'what is no plain object',
      new (class {
        get settings() {
          return { 'app.tenant': 'one' };
        }
      })(),
      'an object',
    ],
    ['a tenant that was not found', { settings: { 'app.tenant': undefined } }, 'app.tenant'],
    ['a role that was not found', { role: undefined }, 'the name of a role'],
    ['PostgreSQL’s name for no role', { role: 'none' }, 'the name of a role'],
    ['a number', { settings: { 'app.tenant': 7 } }, 'app.tenant'],
    ['a NUL', { settings: { 'app.tenant': 'a\0b' } }, 'app.tenant'],
    ['a promise', async () => Promise.reject(new Error('nobody hears it')), 'an object'],
    ['nothing', undefined, 'an object'],
    ['an option that is none', { rol: role }, 'role'],
  ])('S7 %s is a ConfigurationError, and nothing is executed', async (_fault, returned, words) => {
    let runs = 0;
    const handle = async () => void runs++;
    const idempotency = here({ begin: () => (typeof returned === 'function' ? returned() : returned) as object });
    const atomic = idempotency.operation({ name: 'atomic', schema: anything }).handler(handle);
    const phased = idempotency
      .operation({ name: 'phased', schema: anything })
      .phases(async ({ atomic }) => await atomic('one', handle));
    for (const operation of [atomic, phased]) {
      const key = freshKey();
      const refused = await operation.execute({ key, payload: {}, scope: as('one') }).catch((error) => error);
      expect(refused).toBeInstanceOf(oncekit.ConfigurationError);
      expect(`${refused.existing} ${refused.expected}`).toContain(words);
      expect([runs, await keys(key)]).toEqual([0, []]);
    }
  });

  test('names and values are bound: neither is a part of the SQL, and they are those of the moment', async () => {
    const nasty = `'); DROP TABLE orders; --`;
    const operation = here({ begin: () => ({ settings: { 'app.tenant': nasty } }) })
      .operation({ name: 'bound', schema: anything })
      .handler(async ({ tx }) => (await tx.$queryRaw<object[]>`SELECT current_setting('app.tenant') AS tenant`)[0]);
    const run = () => operation.execute({ key: freshKey(), payload: {}, scope: as('one') });
    expect(await run()).toMatchObject({ ok: true, data: { tenant: nasty } });
    expect(await run()).toMatchObject({ ok: true });
    // One object for all, which `begin` fills anew each time.
    const settings = { 'app.tenant': '' };
    const shared = here({
      begin: ({ scope }) => {
        settings['app.tenant'] = scope.tenant;
        return { role, settings };
      },
    })
      .operation({ name: 'shared', schema: anything })
      .handler(async ({ tx, scope }) => [
        scope.tenant,
        (await tx.$queryRaw<{ tenant: string }[]>`SELECT current_setting('app.tenant') AS tenant`)[0]?.tenant,
      ]);
    const tenants = ['a', 'b', 'c', 'd', 'e', 'f'];
    const all = tenants.map((tenant) => shared.execute({ key: freshKey(), payload: {}, scope: as(tenant) }));
    expect((await Promise.all(all)).map((one) => one.ok && one.data)).toEqual(
      tenants.map((tenant) => [tenant, tenant]),
    );
  });

  test('a right that is lacking is said of the answer, too, and of phases; a begin that is none is refused', async () => {
    let runs = 0;
    await database.client.$executeRawUnsafe(`GRANT SELECT ON idempotency_keys, idempotency_phases TO ${bare}`);
    const idempotency = here({ begin: () => ({ role: bare }) });
    const atomic = idempotency.operation({ name: 'atomic', schema: anything }).handler(async () => void runs++);
    const phased = idempotency
      .operation({ name: 'phased', schema: anything })
      .phases(async ({ atomic }) => await atomic('one', async () => void runs++));
    const falsy = here({ begin: false as never })
      .operation({ name: 'falsy', schema: anything })
      .handler(async () => void runs++);
    for (const operation of [atomic, phased, falsy]) {
      const key = freshKey();
      const refused = await operation.execute({ key, payload: {}, scope: as('one') }).catch((error) => error);
      expect(refused).toBeInstanceOf(oncekit.ConfigurationError);
      expect(await keys(key)).toEqual([]);
    }
    expect(runs).toBeLessThanOrEqual(1); // on the kit’s pool the answer alone is written, behind the handler
  });

  test('a transaction of the caller’s is not begun again', async () => {
    await client.$transaction(async (tx) => {
      const joined = kit(joinTransaction(tx) as never, { begin: () => ({ role }) });
      const operation = joined.operation({ name: 'joined', schema: anything }).handler(async () => null);
      const asked = operation.execute({ key: freshKey(), payload: {}, scope: as('one') });
      await expect(asked).rejects.toThrow(oncekit.ConfigurationError);
    });
  });

  test('an operation has its own in place of the kit’s, and an error of begin is one of its call', async () => {
    const role = async (tx: Pick<Client, '$queryRaw'>) =>
      (await tx.$queryRaw<object[]>`SELECT current_user::text AS role`)[0];
    const plain = here()
      .operation({ name: 'plain', schema: anything, begin: () => ({}), isolationLevel: 'RepeatableRead' })
      .handler(async ({ tx }) => role(tx));
    const strict = here()
      .operation({ name: 'strict', schema: anything, isolationLevel: 'Serializable' })
      .handler(async ({ tx }) => role(tx));
    const broken = here()
      .operation({
        name: 'broken',
        schema: anything,
        begin: () => {
          throw new Error('not today');
        },
      })
      .handler(async () => null);
    const run = (operation: typeof plain) =>
      operation.execute({ key: freshKey(), payload: {}, scope: as('one'), attempt: 1 });
    expect(await run(plain)).toMatchObject({ data: { role: appRole } });
    expect(await run(strict)).toMatchObject({ data: { role: begin({ scope: as('one') }).role } });
    expect(await run(broken as never)).toMatchObject({ ok: false, code: 'internal', executed: false });
  });
});
