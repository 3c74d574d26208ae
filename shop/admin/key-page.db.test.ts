import { randomUUID } from 'node:crypto';
import { createElement } from 'react';
import { renderToStaticMarkup } from 'react-dom/server';
import { afterAll, beforeAll, beforeEach, expect, test } from 'vitest';
import { type TestDatabase, testDatabase } from '../../scripts/testing/test-database.ts';

let database: TestDatabase;
beforeAll(async () => {
  database = await testDatabase();
  Object.assign(process.env, {
    DATABASE_URL: database.url,
    IDEMPOTENCY_SECRET: 'a-secret-of-the-tests-of-the-shop-alone',
    STRIPE_API_BASE: 'http://127.0.0.1:1',
  });
});
afterAll(async () => {
  const { db } = await import('../db.ts');
  await db().$disconnect();
  await database?.drop();
});

beforeEach(() => database.client.idempotencyKey.deleteMany());

/** A key whose executor died two days ago. */
async function left(operation: string) {
  const id = { tenant: 'demo', principal: 'ada', operation, key: randomUUID() };
  const [then, later] = [-48, 48].map((hours) => new Date(Date.now() + hours * 3_600_000)) as [Date, Date];
  await database.client.idempotencyKey.create({
    data: { ...id, state: 'in_progress', expiresAt: later, claimedAt: then, leaseUntil: then, nextAttemptAt: then },
  });
  return id;
}

const send = async () => {};
const action = { send, actKey: 'k' };
const actions = { resolve: action, retryNow: action, release: action, forget: action, acknowledge: action };

async function pageOf(id: Awaited<ReturnType<typeof left>>): Promise<string> {
  const { admin } = await import('./admin.ts');
  const { KeyOperations } = await import('../../components/admin/keys/key-operations.tsx');
  const detail = await admin({ tenant: null }).findKey(id);
  if (!detail) throw new Error('There is no such key.');
  return renderToStaticMarkup(createElement(KeyOperations, { detail, now: Date.now(), actions }));
}

test('the page of a key says that no worker goes on with it where its operation is not listed', async () => {
  const listed = await pageOf(await left('checkout'));
  expect(listed).toContain('A worker goes on with it by itself');
  expect(listed).not.toContain('No worker');
  const unlisted = await pageOf(await left('returns.create'));
  expect(unlisted).toContain('No worker goes on with this key, because no operation of the name returns.create');
  expect(unlisted).not.toMatch(/A worker goes on|Retry now/);
});

test('the page of a settled key that is flagged says why, and takes no other act', async () => {
  const [reached, kept, doubtful] = [await left('checkout'), await left('checkout'), await left('checkout')];
  await database.client.$executeRaw`
    UPDATE idempotency_keys SET state = 'failed', settled_at = now(), lease_until = NULL, next_attempt_at = NULL,
           needs_attention = true`;
  const call = { name: 'charge_created', position: 1, kind: 'foreign', fencingToken: 1, sends: 1 };
  await database.client.idempotencyPhase.createMany({
    data: [
      { ...reached, ...call, state: 'started', derivedKey: 'a1b2' },
      { ...doubtful, ...call, state: 'started', derivedKey: 'a1b2' },
      { ...kept, ...call, state: 'done', derivedKey: 'c3d4', result: '{"v":1}' },
    ],
  });
  const refused = {
    ...kept,
    ...call,
    name: 'sent_on',
    position: 2,
    state: 'started',
    notExecuted: 1,
    derivedKey: 'e5f6',
  };
  await database.client.idempotencyPhase.create({ data: refused });
  const detail = { step: 'charge_created', token: '1', said: 'result' };
  await database.client.idempotencyEvent.create({
    data: { ...reached, type: 'late_answer', actor: 'executor', detail },
  });
  const [one, other] = [await pageOf(reached), await pageOf(kept)];
  expect(one).toMatch(/charge_created<\/code> was answered when nobody waited for it any more.*a1b2/);
  expect(other).toMatch(/charge_created<\/code> was done, and the key has ended in a refusal.*c3d4/);
  expect(other).not.toContain('sent_on</code>');
  expect(await pageOf(doubtful)).toMatch(/charge_created<\/code> may have been done.*a1b2/);
  for (const page of [one, other])
    expect(page.match(/<button[^>]*>[^<]*/g)).toEqual([expect.stringContaining('I have seen')]);
  await database.client.$executeRaw`UPDATE idempotency_keys SET needs_attention = false`;
  expect(await pageOf(reached)).toBe('');
});

test('the first page names operations that are not listed, with their keys, and what to add', async () => {
  for (const operation of ['checkout', 'returns.create', 'returns.create']) await left(operation);
  const { admin } = await import('./admin.ts');
  const { UnlistedNotice } = await import('../../components/admin/keys/unlisted-notice.tsx');
  const { unlisted } = await admin({ tenant: null }).overview();
  expect(unlisted).toEqual([{ operation: 'returns.create', count: 2 }]);
  const said = unlisted.map((each) => renderToStaticMarkup(createElement(UnlistedNotice, each))).join('');
  expect(said).toContain('No worker goes on with 2 keys of returns.create');
  expect(said).toContain('lib/operations.ts');
});

test('an admin of one tenant acts on its keys alone, whatever the form says', async () => {
  const { keyActs } = await import('./acts.ts');
  const id = await left('checkout');
  const [row] = await database.client.idempotencyKey.findMany({ where: { key: id.key } });
  const sent = async (
    act: string,
    account: { name: string; tenant: string | null },
    more: Record<string, string> = {},
  ) => {
    const form = new FormData();
    for (const [name, value] of Object.entries({ ...id, fencing_token: '1', revision: 'r', ...more }))
      form.append(name, value);
    return await keyActs.once(act, form, account);
  };
  const ofAnother = { name: 'eve', tenant: 'acme' };
  for (const act of ['retry', 'release', 'forget', 'acknowledge', 'send_again', 'not_done'])
    expect(await sent(act, ofAnother), act).toBe('changed');
  expect(await sent('found', ofAnother, { reference: 'ch_1' })).toBe('changed');
  expect(await sent('fence', ofAnother)).toBe('fenced'); // a key of acme's that nobody has used
  for (const name of ['tenant[]', 'tenant.0', 'tenant[x]'])
    expect(['changed', 'unsure']).toContain(await sent('retry', ofAnother, { [name]: 'demo' }));
  // An account without one, which JavaScript lets through, is no admin of a tenant called "undefined".
  expect(await sent('fence', { name: 'eve' } as never)).toBe('invalid');
  expect(await database.client.idempotencyKey.findMany({ where: id })).toEqual([row]);
  expect(await sent('retry', { name: 'root', tenant: 'demo' })).toBe('retried');
});

test('an account of another tenant is erased without the shoppers that the one of that name was before', async () => {
  const { admin } = await import('./admin.ts');
  await database.client.adoptedShopper.create({ data: { shopper: 'shopper-of-dora', account: 'dora' } });
  const ofAcme = admin({ tenant: 'acme' });
  await ofAcme.erasePrincipal({ tenant: 'acme', principal: 'dora' }, 'eve');
  const { rows } = await ofAcme.audit({ type: 'erased', limit: 10, offset: 0 });
  expect(rows.map(({ principal }) => principal)).toEqual(['dora']);
});
