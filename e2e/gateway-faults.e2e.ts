import { randomUUID } from 'node:crypto';
import { SECRETS } from './fixtures/app-process.ts';
import type { Task } from './fixtures/executor.ts';
import type { Executor, Told } from './fixtures/executor-process.ts';
import { expectCounted } from './fixtures/expect-counted.ts';
import type { GatewayFault, GatewayRequest } from './fixtures/gateway-process.ts';
import { KINDS, type Kind, once } from './fixtures/kinds.ts';
import { expect, type Stage, test } from './fixtures/stage.ts';

/** A payment provider that misbehaves, for a checkout and for a refund: money moves once. */

const kinds = Object.keys(KINDS) as Kind[];

/** How often a state is looked at that is about to come. */
const soon = { intervals: [50] };

const nothing = { moved: 0, entries: 0, balance: 0, mails: 0 };

/** Sells what is to be refunded, while nothing is broken: one for all tests, with a circuit that stays closed. */
let seller: Promise<Executor> | undefined;

test.afterEach(async ({ stage }) => {
  await stage.gateway.heal();
});
test.afterAll(async () => await (await seller)?.end());

/** A checkout, or the refund of an order that is sold first. */
async function prepare(stage: Stage, kind: Kind): Promise<Task> {
  const sale = await stage.checkout();
  if (kind === 'checkout') return sale;
  seller ??= stage.executor();
  const sold = await (await seller).execute(sale);
  await expect.poll(() => stage.tally(sale), { message: 'it is sold', ...soon }).toEqual(once('checkout'));
  const payload = { order_id: sold?.data?.id, amount: '5.00' };
  return { operation: 'refund', key: randomUUID(), principal: sale.principal, payload };
}

/** As a client does: the same key, until there is an answer that counts. */
async function untilAnswered(executor: Executor, task: Task): Promise<Told | undefined> {
  let told: Told | undefined;
  let attempt = 0;
  const again = async () => {
    told = await executor.execute({ ...task, attempt: ++attempt });
    return told?.code ?? 'answered';
  };
  const later = /in_flight|outcome_unknown|unavailable/;
  await expect.poll(again, { message: 'an answer that counts', intervals: [250] }).not.toMatch(later);
  return told;
}

/** The provider's requests under the key of the call. */
async function sendsOf({ db, gateway }: Stage, kind: Kind, { key }: Task): Promise<GatewayRequest[]> {
  const step = await db.idempotencyPhase.findFirst({ where: { key, name: KINDS[kind].call } });
  return step?.derivedKey ? await gateway.sends(step.derivedKey) : [];
}

const asRecorded = ({ status, fault, replayed }: GatewayRequest) => ({ status, fault, replayed });
const sent = { status: 200, fault: null, replayed: false };

/** Each fault, and what the provider is sent because of it. */
const FAULTS: Record<string, { fault: GatewayFault; sends: Partial<GatewayRequest>[] }> = {
  'an answer that is lost after the effect': {
    fault: { kind: 'lose-answer', times: 2 },
    sends: [
      { status: null, fault: 'lose-answer', replayed: false },
      { status: null, fault: 'lose-answer', replayed: true },
      { status: 200, fault: null, replayed: true },
    ],
  },
  // The stored 500 is all that the key will ever answer: the second send shows it, and a look-up finds the effect.
  'a 500 after the effect, which is replayed': {
    fault: { kind: 'error-after' },
    sends: [
      { status: 500, fault: 'error-after', replayed: false },
      { status: 500, fault: null, replayed: true },
    ],
  },
  'a 500 before the effect': {
    fault: { kind: 'error-before' },
    sends: [{ status: 500, fault: 'error-before', replayed: false }, sent],
  },
  'too many requests': {
    fault: { kind: 'rate-limit', times: 2 },
    sends: [
      { status: 429, fault: 'rate-limit', replayed: false },
      { status: 429, fault: 'rate-limit', replayed: false },
      sent,
    ],
  },
};

for (const kind of kinds) {
  const { call, path, done } = KINDS[kind];
  const ofOne = kind === 'checkout' ? [] : '@all';

  for (const [name, { fault, sends }] of Object.entries(FAULTS)) {
    test(`a ${kind} survives ${name}`, { tag: fault.kind === 'lose-answer' ? ofOne : '@all' }, async ({ stage }) => {
      await stage.workers(1);
      const task = await prepare(stage, kind);
      const executor = await stage.executor();
      await stage.gateway.break({ ...fault, method: 'POST', path });
      expect(await executor.execute(task)).toMatchObject({ ok: true, replayed: false, data: { status: done } });
      await expect.poll(() => stage.tally(task), soon).toEqual(once(kind));
      expect((await sendsOf(stage, kind, task)).map(asRecorded)).toEqual(sends);
      await executor.end();
    });
  }

  test(`a ${kind} survives a provider that is slower than the shop waits`, { tag: '@all' }, async ({ stage }) => {
    await stage.workers(1);
    const task = await prepare(stage, kind);
    const executor = await stage.executor(undefined, { STRIPE_TIMEOUT_MS: '300' });
    await stage.gateway.break({ kind: 'latency', method: 'POST', path, ms: 1000 });
    expect(await untilAnswered(executor, task)).toMatchObject({ ok: true, data: { status: done } });
    await expect.poll(() => stage.tally(task), soon).toEqual(once(kind));
    const [first, ...more] = await sendsOf(stage, kind, task);
    expect(first?.fault).toBe('latency');
    expect(more.length, 'it was not waited for').toBeGreaterThan(0);
    await executor.end();
  });

  test(`a ${kind} whose provider has forgotten the key is looked up, not sent again`, { tag: ofOne }, async ({
    stage,
  }) => {
    await stage.workers(1);
    const task = await prepare(stage, kind);
    await stage.workers(0);
    const forgetful = { STRIPE_KEY_TTL_MS: '2000' };
    const executor = await stage.executor(`after-answer ${kind} ${call}`, forgetful);
    expect(await executor.execute(task), 'it dies with the answer in its hand').toBeUndefined();
    await executor.end();
    await stage.gateway.forgetKeys();

    const next = await stage.executor(undefined, forgetful);
    expect(await untilAnswered(next, task)).toMatchObject({ ok: true, data: { status: done } });
    await next.end();
    await stage.workers(1); // for the receipt
    await expect.poll(() => stage.tally(task), soon).toEqual(once(kind));
    expect((await sendsOf(stage, kind, task)).map(asRecorded)).toEqual([sent]);
  });

  test(`a ${kind} survives other parameters under its key: the effect is there, and is found`, { tag: '@all' }, async ({
    stage,
  }) => {
    await stage.workers(1);
    const task = await prepare(stage, kind);
    const executor = await stage.executor();
    const { answer, derivedKey } = await beforeSend(stage, kind, executor, task);
    await stage.gateway.post(path, derivedKey, await sameWithOther(stage, kind, task));
    await executor.letGo();
    await answer;
    expect(await untilAnswered(executor, task)).toMatchObject({ ok: true, data: { status: done } });
    await expect.poll(() => stage.tally(task), soon).toEqual(once(kind));
    expect((await sendsOf(stage, kind, task)).map(({ status }) => status)).toEqual([200, 400]);
    await executor.end();
  });
}

/** Holds the task right before its first send, which is written down already. */
async function beforeSend({ db }: Stage, kind: Kind, executor: Executor, task: Task) {
  const { call } = KINDS[kind];
  await executor.holdAt(`after-started ${kind} ${call}`);
  const answer = executor.execute(task);
  const derivedKeyOf = async () =>
    (await db.idempotencyPhase.findFirst({ where: { key: task.key, name: call } }))?.derivedKey ?? '';
  await expect.poll(derivedKeyOf, { message: 'it is about to be sent', intervals: [20] }).not.toBe('');
  return { answer, derivedKey: await derivedKeyOf() };
}

/** The same effect as a version of the shop would ask for it that sends one parameter more. */
async function sameWithOther({ db }: Stage, kind: Kind, { key }: Task): Promise<Record<string, string>> {
  if (kind === 'checkout') {
    const { id, amountCents } = await db.order.findFirstOrThrow({ where: { idempotencyKey: key } });
    return {
      amount: String(amountCents),
      currency: 'usd',
      payment_method: 'pm_card_visa',
      confirm: 'true',
      description: 'One parameter more',
      'metadata[order_id]': id,
    };
  }
  const refund = await db.refund.findFirstOrThrow({ where: { idempotencyKey: key }, include: { order: true } });
  return {
    payment_intent: String(refund.order.paymentIntent),
    amount: String(refund.amountCents),
    reason: 'requested_by_customer',
    'metadata[refund_id]': refund.id,
  };
}

test('other parameters under the key of a checkout, and no charge: never "failed", and paid once the key is free', {
  tag: '@all',
}, async ({ stage }) => {
  await stage.workers(1);
  const task = await prepare(stage, 'checkout');
  const executor = await stage.executor();
  const { answer, derivedKey } = await beforeSend(stage, 'checkout', executor, task);
  await stage.gateway.post('/v1/payment_intents', derivedKey, { amount: '1', currency: 'usd' });
  await executor.letGo();
  const told = await answer;
  expect(told).toMatchObject({ ok: false, executed: 'unknown' });
  expect(['outcome_unknown', 'unavailable']).toContain(told?.code);
  expectCounted(await stage.tally(task)).toMatchObject({ ...nothing, made: ['paying'] });
  expectCounted((await stage.tally(task)).key).toMatch(/in_progress|unknown/);

  await stage.gateway.forgetKeys();
  await expect.poll(() => stage.tally(task), soon).toEqual(once('checkout'));
  await executor.end();
});

test('a declined card is a stored refusal: it replays, and another key can try another card', { tag: '@all' }, async ({
  stage,
}) => {
  await stage.workers(1);
  const stock = async () => (await stage.db.product.findUniqueOrThrow({ where: { sku: 'mug' } })).stock;
  const before = await stock();
  const sale = await stage.checkout();
  const declined = { ...sale, payload: { ...sale.payload, payment_method: 'pm_card_chargeDeclined' } };
  const executor = await stage.executor();
  for (const replayed of [false, true]) {
    expect(await executor.execute(declined)).toMatchObject({
      ok: false,
      code: 'failed',
      reason: 'card_declined',
      replayed,
    });
    expectCounted(await stage.tally(declined)).toEqual({ ...nothing, key: 'failed', made: ['payment_failed'] });
    expect(await stock(), 'the goods are back').toBe(before);
  }
  expect(await sendsOf(stage, 'checkout', declined), 'the card is tried once').toHaveLength(1);

  const paid = { ...sale, key: randomUUID() };
  expect(await executor.execute(paid)).toMatchObject({ ok: true, data: { status: 'paid' } });
  await expect.poll(() => stage.tally(paid), soon).toEqual(once('checkout'));
  expectCounted(await stage.db.order.count({ where: { cartId: sale.payload.cart_id } })).toBe(1);
  expect(await stock()).toBe(before - 1);
  await executor.end();
});

test('a refund that the provider refuses is a stored refusal, and the order stays paid', { tag: '@all' }, async ({
  stage,
}) => {
  await stage.workers(1);
  const task = await prepare(stage, 'refund');
  const id = String(task.payload.order_id);
  const { paymentIntent } = await stage.db.order.findUniqueOrThrow({ where: { id } });
  await stage.gateway.dispute(String(paymentIntent));
  const executor = await stage.executor();
  for (const replayed of [false, true]) {
    expect(await executor.execute(task)).toMatchObject({
      ok: false,
      code: 'failed',
      reason: 'refund_refused',
      replayed,
    });
    expectCounted(await stage.tally(task)).toEqual({ ...nothing, key: 'failed', made: ['failed'] });
  }
  expect(await sendsOf(stage, 'refund', task)).toHaveLength(1);
  expect(await stage.db.order.findUniqueOrThrow({ where: { id } })).toMatchObject({ status: 'paid' });
  await executor.end();
});

/** As if the pauses were over that failures have earned, of up to a minute. None as short as a lease: that may be a run. */
async function cutPauses({ db }: Stage, tasks: Task[]): Promise<void> {
  const long = new Date(Date.now() + Number(SECRETS.DEMO_LEASE_MS) + 500);
  const key = { in: tasks.map((task) => task.key) };
  await db.idempotencyKey.updateMany({
    where: { key, nextAttemptAt: { gt: long } },
    data: { nextAttemptAt: new Date() },
  });
}

test('a provider that is down opens the circuit of each process, and each checkout and refund is finished when it is up', {
  tag: '@chaos',
}, async ({ stage }) => {
  await stage.workers(1);
  const sides = await Promise.all(
    kinds.map(async (kind) => ({
      kind,
      tasks: [await prepare(stage, kind), await prepare(stage, kind), await prepare(stage, kind)],
      executor: await stage.executor(),
    })),
  );
  await stage.workers(0);
  const tasks = sides.flatMap((side) => side.tasks.map((task) => ({ ...task, kind: side.kind })));
  const countSends = async (of: typeof tasks) =>
    (await Promise.all(of.map((task) => sendsOf(stage, task.kind, task)))).flat().length;
  await stage.gateway.break({ kind: 'down' });
  const downAt = performance.now();
  // An open circuit lets one call through in 5 s. A slow machine is down for longer, and may try more often.
  const trials = () => Math.floor((performance.now() - downAt) / 5000);
  for (const { kind, tasks: ofSide, executor } of sides) {
    for (const task of ofSide) {
      expect(await executor.execute(task)).toMatchObject({ ok: false, code: 'unavailable', executed: 'unknown' });
    }
    const sent = await countSends(tasks.filter((task) => task.kind === kind));
    expect(sent, `${kind}: the circuit opens at the fifth send`).toBeGreaterThanOrEqual(5);
    expect(sent, `${kind}: an open circuit sends nothing`).toBeLessThanOrEqual(5 + trials());
  }

  // A worker that comes while it is down learns the same, with a circuit of its own.
  const before = await countSends(tasks);
  await stage.workers(1);
  const fewestAttempts = async () => {
    await cutPauses(stage, tasks);
    const key = { in: tasks.map((task) => task.key) };
    const { _min } = await stage.db.idempotencyKey.aggregate({ where: { key }, _min: { attempts: true } });
    return _min.attempts;
  };
  await expect
    .poll(fewestAttempts, { message: 'the worker has taken each key again', timeout: 60_000, intervals: [250] })
    .toBeGreaterThanOrEqual(4);
  const ofWorker = (await countSends(tasks)) - before;
  expect(ofWorker, 'the circuit of the worker opens at its fifth').toBeGreaterThanOrEqual(5);
  // Each key that it runs at once may have a send under way when the circuit opens.
  expect(ofWorker, 'an open circuit sends nothing').toBeLessThanOrEqual(5 + tasks.length - 1 + trials());
  await stage.gateway.heal();

  const finished = async () => {
    await cutPauses(stage, tasks);
    return await Promise.all(tasks.map((task) => stage.tally(task)));
  };
  await expect
    .poll(finished, { message: 'a worker finishes them', timeout: 60_000, intervals: [500] })
    .toEqual(tasks.map(({ kind }) => once(kind)));
  for (const { kind, executor } of sides) {
    // The executor's own circuit closes with the first send that is let through.
    const another = await prepare(stage, kind);
    expect(await untilAnswered(executor, another)).toMatchObject({ ok: true, data: { status: KINDS[kind].done } });
    await expect.poll(() => stage.tally(another), soon).toEqual(once(kind));
    await executor.end();
  }
});
