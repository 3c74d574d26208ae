import { randomUUID } from 'node:crypto';
import { createElement } from 'react';
import { renderToStaticMarkup } from 'react-dom/server';
import { afterAll, beforeAll, beforeEach, expect, test } from 'vitest';
import { encodeAnswer } from '../../lib/engine/answer.ts';
import { type TestDatabase, testDatabase } from '../../scripts/testing/test-database.ts';
import type { LinkedRow } from './linked.ts';

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

async function pageOf(id: Awaited<ReturnType<typeof left>>, linked: LinkedRow[] = []): Promise<string> {
  const { admin } = await import('./admin.ts');
  const { KeyOperations } = await import('../../components/admin/keys/key-operations.tsx');
  const detail = await admin({ tenant: null }).findKey(id);
  if (!detail) throw new Error('There is no such key.');
  return renderToStaticMarkup(createElement(KeyOperations, { detail, now: Date.now(), actions, linked }));
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

const CALL = { name: 'charge_created', position: 1, kind: 'foreign', fencingToken: 1, sends: 1, derivedKey: 'a1b2' };

test('the page of a settled key says what its provider says, where that contradicts it, and the first page counts it', async () => {
  const [refused, twice] = [await left('checkout'), await left('checkout')];
  await database.client.$executeRaw`
    UPDATE idempotency_keys SET state = CASE key WHEN ${refused.key} THEN 'failed' ELSE 'succeeded' END, settled_at = now(),
           lease_until = NULL, next_attempt_at = NULL, needs_attention = true`;
  await database.client.idempotencyPhase.createMany({
    data: [
      { ...refused, ...CALL, state: 'started', reference: 'ch_2' },
      { ...twice, ...CALL, state: 'done', reference: 'ch_1' },
    ],
  });
  const detail = { said: 'charge.succeeded ch_2', step: 'charge_created', reference: 'ch_2' };
  const event = { type: 'contradicted', actor: 'stripe', detail };
  await database.client.idempotencyEvent.createMany({ data: [refused, twice].map((id) => ({ ...id, ...event })) });
  expect(await pageOf(refused)).toContain('was done, the provider says: ch_2, and the key has ended in a refusal.');
  expect(await pageOf(twice)).toContain('was done, the provider says: ch_2. The key counts another reference, ch_1');
  const { admin } = await import('./admin.ts');
  const { SETTLED } = await import('./query.ts');
  const { SettledNotices } = await import('../../components/admin/keys/settled-notices.tsx');
  await left('checkout');
  const pages = await Promise.all(SETTLED.map(admin({ tenant: null }).listKeys));
  const told = renderToStaticMarkup(createElement(SettledNotices, { pages }));
  expect(told).toMatch(/1 key has ended in a refusal.*href="\/admin\/keys\?stuck=1&amp;state=failed"/);
  expect(told).toMatch(/1 key has ended as succeeded.*href="\/admin\/keys\?stuck=1&amp;state=succeeded"/);
  const several = pages.slice(0, 1).map(({ rows }) => ({ rows: [...rows, ...rows], hasMore: true }));
  expect(renderToStaticMarkup(createElement(SettledNotices, { pages: several }))).toContain(
    '2 or more keys have ended',
  );
  const none = [{ rows: [], hasMore: false }];
  expect(renderToStaticMarkup(createElement(SettledNotices, { pages: none }))).toBe('');
});

/** A key whose call is in doubt, and what was heard of it. */
async function doubted(...heard: { type: string; actor: string; detail: Record<string, string> }[]) {
  const id = await left('checkout');
  await database.client.idempotencyKey.updateMany({
    where: id,
    data: { state: 'unknown', leaseUntil: null, nextAttemptAt: null, needsAttention: true },
  });
  await database.client.idempotencyPhase.create({ data: { ...id, ...CALL, state: 'started' } });
  await database.client.idempotencyEvent.createMany({ data: heard.map((event) => ({ ...id, ...event })) });
  return id;
}

const PROOF = { said: 'charge.succeeded ch_1', step: 'charge_created', reference: 'ch_1' };

test('a call that is asked about by itself can be asked about now, apart from being sent again', async () => {
  const id = await doubted();
  const soon = new Date(Date.now() + 3_600_000);
  await database.client.idempotencyKey.updateMany({ where: id, data: { nextAttemptAt: soon } });
  expect((await pageOf(id)).match(/<button[^>]*>[^<]*/g)).toEqual([
    expect.stringMatching(/bg-surface.*Ask again now/),
    expect.stringMatching(/bg-accent.*It went through/),
    expect.stringContaining('It shall not happen'),
    expect.stringContaining('Send it again'),
  ]);
});

test('of a call that nobody can be asked about the page says so, and has no button that asks', async () => {
  const page = await pageOf(await doubted());
  expect(page).toContain('Nobody can be asked from here');
  expect(page).not.toMatch(/>(Ask again now|Retry now)</);
});

test('what is in doubt comes first: the order, its amount, the customer and since when', async () => {
  const id = await doubted();
  const firstSentAt = new Date(Date.now() - 180_000);
  await database.client.idempotencyPhase.updateMany({ where: id, data: { firstSentAt } });
  const { db } = await import('../db.ts');
  const [order] = [{ id: randomUUID(), customerName: 'Ada Lovelace', email: 'ada@example.com' }];
  const { tenant, principal, key: idempotencyKey } = id;
  const what = { sku: 'mug', quantity: 1, amountCents: 900, status: 'paying', source: 'checkout', paymentMethod: 'pm' };
  await db().order.create({ data: { ...order, ...what, tenant, principal, idempotencyKey } });
  const { linkedRows } = await import('./linked.ts');
  const page = (await pageOf(id, await linkedRows(id))).replace(/<[^>]+>/g, ' ').replace(/\s+/g, ' ');
  const sent = firstSentAt.toISOString().slice(0, 19).replace('T', ' ');
  const inOrder = [order.id, '$9.00', 'Ada Lovelace (ada@example.com)', `at ${sent} UTC ( 3 minutes ago )`, 'a1b2'];
  expect([...inOrder, 'It went through'].map((text) => page.indexOf(text))).toEqual(
    [...inOrder, 'It went through'].map((text) => page.indexOf(text)).toSorted((one, other) => one - other),
  );
  for (const text of inOrder) expect(page).toContain(text);
});

test('what was heard of a call stands above the verdicts, with its reference filled in; the one that can charge twice is last', async () => {
  const at = { step: 'charge_created', reference: 'ch_1' };
  const page = await pageOf(
    await doubted(
      { type: 'late_answer', actor: 'executor', detail: { step: 'charge_created', token: '1', said: 'result' } },
      { type: 'late_answer', actor: 'executor', detail: { step: 'sent_on', token: '1', said: 'refusal' } },
      { type: 'evidence', actor: 'stripe', detail: PROOF },
      { type: 'set_aside', actor: 'executor', detail: at },
    ),
  );
  expect(page).toMatch(
    /charge_created came too late.*stripe says: charge.succeeded ch_1 at.*UTC.*has not confirmed it/,
  );
  expect(page).not.toContain('sent_on');
  expect(page.indexOf('stripe says')).toBeLessThan(page.indexOf('was sent'));
  expect(page).toMatch(/name="reference"[^>]*value="ch_1"/);
  expect(page.match(/<button[^>]*>[^<]*/g)).toEqual([
    expect.stringMatching(/bg-accent.*It went through/),
    expect.stringMatching(/bg-surface.*It shall not happen/),
    expect.stringMatching(/text-bad.*Send it again/),
  ]);
  expect(page.match(/Type ch_1 to overrule/g)).toHaveLength(2);
  const quiet = await pageOf(await doubted());
  expect(quiet).not.toMatch(/heard|overrule/);
  expect(quiet).toMatch(/name="reference"(?![^>]*value=)/);
});

test.each([
  ['the provider has refused', 'card_declined', false, /refused .*not executed: card_declined. Nothing is in doubt/],
  ['a person has given up', 'marked_failed', 'unknown', /given up .*a person’s word/],
  ['a later step has ended in a refusal', 'too_late', 'unknown', /sent .*not known/],
] as const)('the steps of a refused key say how a call ended that %s', async (_, reason, executed, words) => {
  const id = await doubted();
  const result = encodeAnswer({ kind: 'refusal', reason, message: '', status: 402, data: null, executed });
  const settled = { state: 'failed', settledAt: new Date(), result, needsAttention: false } as const;
  await database.client.idempotencyKey.updateMany({ where: id, data: settled });
  const { admin } = await import('./admin.ts');
  const { KeyPhases } = await import('../../components/admin/keys/key-phases.tsx');
  const detail = await admin({ tenant: null }).findKey(id);
  if (!detail) throw new Error('There is no such key.');
  const shown = renderToStaticMarkup(createElement(KeyPhases, { detail, now: Date.now() }));
  expect(shown.replace(/<[^>]+>/g, ' ').replace(/\s+/g, ' ')).toMatch(words);
});

test('a verdict that overrules what was heard is refused until that is typed, and the page says what was wrong', async () => {
  const { keyActs } = await import('./acts.ts');
  const { admin } = await import('./admin.ts');
  const { KeyOperations } = await import('../../components/admin/keys/key-operations.tsx');
  const { KeyNotice } = await import('../../components/admin/keys/key-notice.tsx');
  // Spaces and line breaks that no field and no page can show.
  const said = 'charge.succeeded \n ch_1';
  for (const act of ['not_done', 'send_again']) {
    const id = await doubted({ type: 'evidence', actor: 'stripe', detail: { said } });
    const detail = await admin({ tenant: null }).findKey(id);
    if (!detail) throw new Error('There is no such key.');
    const send = async (more: Record<string, string>) => {
      const form = new FormData();
      const { revision, fencingToken } = detail;
      for (const [name, value] of Object.entries({ ...id, revision, fencing_token: `${fencingToken}`, ...more }))
        form.append(name, value);
      return await keyActs.once(act, form, { name: 'eve', tenant: null });
    };
    expect([await send({}), await send({ overrules: 'ch_1' })]).toEqual(['refused', 'refused']);
    const refused = { kind: act === 'not_done' ? 'failed' : 'retry', typed: 'ch_1' };
    const operations = createElement(KeyOperations, { detail, now: Date.now(), actions, refused });
    const corrected = renderToStaticMarkup(operations);
    expect(corrected.match(/<details[^>]* open=""/g)).toHaveLength(1);
    expect(corrected).toMatch(/aria-invalid="true"[^>]*value="ch_1".*That is not charge.succeeded ch_1\./);
    const notice = renderToStaticMarkup(createElement(KeyNotice, { name: 'refused', heard: detail.heard }));
    expect(notice).toContain('your word overrules: charge.succeeded');
    expect(await send({ overrules: ' charge.succeeded ch_1' })).toBe('recorded');
    const records = await database.client.idempotencyAudit.findMany({ where: { key: id.key } });
    expect(records).toMatchObject([{ actor: 'eve', detail: { overrules: said } }]);
  }
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

test('a key is found by what the shop knows of it: its order, its customer and the payment', async () => {
  const key = randomUUID();
  const [order, refund, api] = [randomUUID(), randomUUID(), randomUUID()];
  const who = { tenant: 'demo', principal: 'ada' };
  const of = { ...who, sku: 'mug', quantity: 1, amountCents: 900, status: 'paid', paymentMethod: 'card' };
  const bought = { ...of, id: order, source: 'checkout', idempotencyKey: key, email: 'Ada.L@example.org' };
  await database.client.order.create({ data: { ...bought, paymentIntent: 'pi_3Ada' } });
  await database.client.order.create({ data: { ...of, id: api, source: 'api', status: 'pending' } }); // of no key
  // Clients of the API choose their keys: words that stand in every event, too.
  const chosen = { ...of, source: 'api', status: 'pending' };
  const words = ['id', 'did', 'data', 'object', 'metadata', 'orderId', 'r-1'];
  await database.client.order.createMany({
    data: words.map((word) => ({ ...chosen, id: randomUUID(), idempotencyKey: word })),
  });
  const back = { ...who, orderId: order, amountCents: 900, status: 'succeeded', settledAt: new Date() };
  await database.client.refund.create({
    data: { ...back, id: refund, source: 'form', idempotencyKey: 'r-1', providerRefund: 're_9' },
  });
  // What the provider has told of it leads there and back: what it came to, and while it waits, what it says.
  const events = [
    {
      eventId: 'evt_1',
      state: 'processed',
      result: JSON.stringify({ did: 'evidence', operation: 'checkout', key, orderId: order }),
    },
    { eventId: 'evt_2', state: 'processed', result: JSON.stringify({ did: 'noted', orderId: order }) },
    {
      eventId: 'evt_3',
      state: 'dead',
      payload: JSON.stringify({ data: { object: { metadata: { order_id: order } } } }),
    },
    { eventId: 'evt_4', state: 'processed', result: JSON.stringify({ did: 'booked', refundId: refund }) },
    { eventId: 'evt_5', state: 'processed', result: JSON.stringify({ did: 'nothing', why: 'no order of this shop' }) },
  ];
  const [payloadHash, processedAt] = [Buffer.alloc(32), new Date()];
  await database.client.inboxEvent.createMany({
    data: events.map((event) => ({
      ...{ source: 'stripe', payloadHash, attempts: 1, ...event },
      ...(event.state === 'processed' && { processedAt, expiresAt: processedAt }),
    })),
  });
  const { findKeys, linkedToReceived, receivedFor } = await import('./linked.ts');
  const about = async (eventId: string) =>
    (await linkedToReceived({ source: 'stripe', eventId })).map(({ name, href }) => `${name} ${href}`);
  const keyAt = (operation: string, of: string) =>
    `Key of ${operation} /admin/keys/detail?${new URLSearchParams({ ...who, operation, key: of })}`;
  const orderAt = [`Order /orders/${order}`, keyAt('checkout', key)];
  for (const event of ['evt_1', 'evt_2', 'evt_3']) expect(await about(event), event).toEqual(orderAt);
  expect(await about('evt_4')).toEqual([...orderAt, keyAt('refund', 'r-1')]);
  expect([await about('evt_5'), await about('evt_none')]).toEqual([[], []]);
  const heardBy = async (operation: string, of: string) =>
    (await receivedFor({ ...who, operation, key: of })).map(({ text }) => text.split(' ')[0]).sort();
  expect(await heardBy('checkout', key)).toEqual(['evt_1', 'evt_2', 'evt_3']);
  expect(await heardBy('refund', 'r-1')).toEqual(['evt_4']);
  expect(await heardBy('orders.create', 'did')).toEqual([]);
  const found = async (text: string) => (await findKeys(text)).map((id) => `${id.operation} ${id.key}`).sort();
  const both = [`checkout ${key}`, 'refund r-1'];
  for (const text of [order.slice(2, 20), 'ada.l@', 'pi_3ada']) expect(await found(text), text).toEqual(both);
  expect([await found('re_9'), await found(refund)]).toEqual([['refund r-1'], ['refund r-1']]);
  for (const text of [api, 'pi', '%']) expect(await found(text), text).toEqual([]);
  // Those of other tenants take no place among the hundred.
  expect([(await findKeys(order, 'demo')).length, await findKeys(order, 'others')]).toEqual([2, []]);
  const { admin } = await import('./admin.ts');
  const { filterOf, readKeysQuery } = await import('./query.ts');
  await left('checkout');
  await database.client.idempotencyKey.updateMany({ data: { key } });
  const { rows } = await admin({ tenant: null }).listKeys(filterOf(readKeysQuery({ q: order }), await findKeys(order)));
  expect(rows.map((row) => row.key)).toEqual([key]);
});

test('the page of a key says how often it was answered again, and its timeline has no line of that', async () => {
  const id = await left('checkout');
  const [at, last] = [new Date('2026-11-28T22:45:01.000Z'), new Date('2026-11-28T22:45:10.000Z')];
  const count = (type: string, times: string, more = {}) => ({
    ...id,
    type,
    actor: 'client',
    at,
    detail: { times, last: last.toISOString(), ...more },
  });
  await database.client.idempotencyEvent.createMany({
    data: [
      count('replayed', '3'),
      { ...count('replayed', '2'), at: last }, // of another process
      count('payload_mismatch', '1', { fingerprint: 'a1b2c3' }),
    ],
  });
  const { admin } = await import('./admin.ts');
  const { KeyFacts } = await import('../../components/admin/keys/key-facts.tsx');
  const { KeyTimeline } = await import('../../components/admin/keys/key-timeline.tsx');
  const detail = await admin({ tenant: null }).findKey(id);
  if (!detail) throw new Error('There is no such key.');
  const [facts, timeline] = [KeyFacts, KeyTimeline].map((Part) =>
    renderToStaticMarkup(createElement(Part, { detail, now: Date.now() }))
      .replace(/<[^>]*>/g, ' ')
      .replace(/ +/g, ' '),
  );
  expect(facts).toContain(
    'With what is stored, 5 times first 2026-11-28 22:45:01.000 UTC , last 2026-11-28 22:45:10.000 UTC (',
  );
  expect(facts).toMatch(/Refused, since other values were sent, once, .*a1b2c3….*2026-11-28 22:45:10.000 UTC/);
  expect(timeline).toContain('Sent again with another payload, refused, by client (fingerprint a1b2c3)');
  expect(timeline).not.toMatch(/replayed|times/);
  await database.client.idempotencyEvent.deleteMany();
});
