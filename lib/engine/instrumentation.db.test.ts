import { context, SpanKind, SpanStatusCode, TraceFlags, trace } from '@opentelemetry/api';
import { afterEach, beforeEach, expect, test } from 'vitest';
import { expectCounted } from '../../scripts/testing/expect-counted.ts';
import type { LogEntry } from '../index.ts';
import { ANN, anything, effect, freshKey, kit } from '../integration/kit.fixture.ts';
import { linksOf, traceParentOf, watchEverything } from './instrumentation.fixture.ts';
import { database, expectOnce, expire, provider, rowOf, shop, usePhases } from './phases/shop.fixture.ts';

const SECRET = 'what-no-trace-and-no-log-may-hold';
const seen = watchEverything();
let entries: LogEntry[] = [];
const log = (entry: LogEntry) => void entries.push(entry);

usePhases();
beforeEach(() => {
  seen.forget();
  entries = [];
});
afterEach(() => {
  const told = seen
    .spans()
    .map(({ name, attributes, events, status, links }) => [name, attributes, events, status, links]);
  expect(JSON.stringify([told, entries])).not.toContain(SECRET);
});

/** The part of a log line about a key's way. */
const moves = () => entries.map(({ from_state, to_state, msg }) => `${from_state} -> ${to_state}: ${msg}`);
const outcomes = () =>
  seen
    .named('idempotency.execute')
    .map(({ attributes: { 'idempotency.outcome': outcome, ...rest } }) => [
      outcome,
      rest['idempotency.attempt'],
      rest['idempotency.replayed'],
    ]);

/** An order in one transaction, whose handler throws when it is told to. */
function order() {
  const operation = kit(database.client, { log }).operation({ name: 'order', schema: anything });
  return operation.handler(async ({ input, tx, key, fail }) => {
    if (input.card === 'declined') fail('card_declined', { card: SECRET }, { status: 402 });
    if (input.card === 'broken') throw new TypeError(SECRET);
    await effect(tx, key);
    return { card: SECRET };
  });
}

test('N1 a checkout whose answer was lost: its replay is linked to the first run, and nothing of it is told', async () => {
  const key = freshKey();
  const { checkout } = shop({ log });
  provider.faults = ['after']; // what the provider has answered is lost, too
  const send = (attempt: number) => checkout.execute({ key, attempt, payload: { card: SECRET } });
  const first = await trace.getTracer('app').startActiveSpan('POST /checkout', async (span) => {
    const outcome = await send(1);
    span.end();
    return outcome;
  });
  await send(2);
  expect(first.ok).toBe(true);
  await expectOnce(key);

  const [ran, replayed] = seen.named('idempotency.execute');
  expect(outcomes()).toEqual([
    ['succeeded', 1, false],
    ['succeeded', 2, true],
  ]);
  expect(ran?.attributes).toMatchObject({ 'idempotency.key': key, 'idempotency.operation': 'pay' });
  expect(ran?.parentSpanContext?.spanId).toBe(seen.named('POST /checkout')[0]?.spanContext().spanId);
  expect((await rowOf(key))?.traceParent).toBe(traceParentOf(ran));
  expect([linksOf(ran), linksOf(replayed)]).toEqual([[], [traceParentOf(ran)]]);
  expect(replayed?.spanContext().traceId).not.toBe(ran?.spanContext().traceId);

  const steps = seen.spans().filter(({ attributes }) => attributes['idempotency.step']);
  expect(steps.map(({ name, kind, attributes }) => [name, attributes['idempotency.step'], kind])).toEqual([
    ['idempotency.atomic', 'order_created', SpanKind.INTERNAL],
    ['idempotency.foreign', 'charge_created', SpanKind.CLIENT],
    ['idempotency.atomic', 'finished', SpanKind.INTERNAL],
  ]);
  for (const step of steps) expect(step.parentSpanContext?.spanId).toBe(ran?.spanContext().spanId);

  expect(moves()).toEqual([
    'absent -> in_progress: key claimed',
    'in_progress -> succeeded: key succeeded',
    'succeeded -> succeeded: duplicate answered',
  ]);
  expect(entries[0]).toEqual({
    level: 'info',
    msg: 'key claimed',
    operation: 'pay',
    key,
    fingerprint: expect.stringMatching(/^[0-9a-f]{8}$/),
    attempt: 1,
    from_state: 'absent',
    to_state: 'in_progress',
    correlation_id: ran?.spanContext().traceId,
  });
  expect(entries[2]?.correlation_id).toBe(replayed?.spanContext().traceId);
});

test('N1 what an executor has left goes on in a trace of its own, linked to the first run', async () => {
  const key = freshKey();
  const { idempotency, checkout } = shop({ log });
  provider.faults = ['refused', 'refused', 'refused', 'refused'];
  expect(await checkout.execute({ key, payload: {} })).toMatchObject({ ok: false, code: 'unavailable' });
  await expire(key);
  expect(await idempotency.completeDue()).toMatchObject({ settled: 1 });
  await expectOnce(key);
  const [begun] = seen.named('idempotency.execute');
  const [completed] = seen.named('idempotency.complete');
  expect(begun?.status).toEqual({ code: SpanStatusCode.ERROR, message: 'CodedError' });
  expect(linksOf(completed)).toEqual([traceParentOf(begun)]);
  expect(completed?.attributes).toMatchObject({ 'idempotency.attempt': 2, 'idempotency.outcome': 'succeeded' });
  expect(moves()).toContain('in_progress -> in_progress: key taken up again');
});

test('a declined card and an unknown outcome are no failures of their steps', async () => {
  provider.faults = ['declined'];
  await shop({ log }).checkout.execute({ key: freshKey(), payload: {} });
  provider.faults = ['before'];
  const { checkout } = shop({ log }, { indeterminate: 'unknown' });
  expect(await checkout.execute({ key: freshKey(), payload: {} })).toMatchObject({ code: 'outcome_unknown' });
  expect(seen.named('idempotency.foreign').map(({ status }) => status.code)).toEqual([0, 0]);
  expect(outcomes()).toEqual([
    ['failed', 1, false],
    ['outcome_unknown', 1, false],
  ]);
  expect(moves()).toEqual([
    'absent -> in_progress: key claimed',
    'in_progress -> failed: key refused for good',
    'absent -> in_progress: key claimed',
    'in_progress -> unknown: outcome unknown',
    'undefined -> undefined: a run ended early; what was finished stands and the key can go on from there',
    'unknown -> unknown: call refused',
  ]);
});

test('N2 every counter, by operation; N3 refusals and errors in the log', async () => {
  const before = await seen.counted();
  const on = order();
  const [key, declined, broken, gone] = [freshKey(), freshKey(), freshKey(), freshKey()];
  const send = (of: string, payload: Record<string, unknown>) => on.execute({ key: of, payload });
  await send(key, {});
  await send(key, {});
  const [ran, again] = seen.named('idempotency.execute');
  expect(linksOf(again)).toEqual([traceParentOf(ran)]);
  expect((await rowOf(key))?.traceParent).toBe(traceParentOf(ran));
  await send(key, { another: SECRET });
  await send(declined, { card: 'declined' });
  await send(declined, { card: 'declined' });
  await send(broken, { card: 'broken' });
  await on.fence({ key: gone });
  await send(gone, {});
  const old = kit(database.client, { clock: () => Date.now() - 25 * 3_600_000, log }).operation({
    name: 'order',
    schema: anything,
  });
  const late = (await old.handler(async () => ({})).mintKey(ANN)) as string;
  expect(await send(late, {})).toMatchObject({ code: 'key_expired' });

  const after = await seen.counted();
  const added = (name: string) => (after[`idempotent.${name}`] ?? 0) - (before[`idempotent.${name}`] ?? 0);
  expect(added('created order')).toBe(2);
  expect(added('replayed order')).toBe(2);
  expect(added('mismatch order')).toBe(1);
  expect(added('expired order')).toBe(1);
  expect(added('abandoned order')).toBe(1);
  expect(added('duration order succeeded true')).toBe(1);
  expect(added('duration order failed true')).toBe(1);
  expect(added('duration order internal false')).toBe(1);
  expect(after['idempotent.unknown pay']).toBeGreaterThan(0);

  expect(entries.map(({ level, msg, code }) => [level, msg, code])).toEqual([
    ['info', 'key succeeded', undefined],
    ['debug', 'duplicate answered', undefined],
    ['warn', 'call refused', 'payload_mismatch'],
    ['info', 'key refused for good', undefined],
    ['debug', 'duplicate answered', 'failed'],
    ['error', expect.stringContaining('everything was rolled back'), 'internal'],
    ['info', 'key given up', undefined],
    ['info', 'call refused', 'key_abandoned'],
    ['info', 'call refused', 'key_expired'],
  ]);
  const [failure] = entries.filter(({ level }) => level === 'error');
  expect(failure).toMatchObject({ key: broken, error: 'TypeError', instance: expect.stringMatching(/^urn:uuid:/) });
  expect(seen.named('idempotency.execute')[5]?.status).toEqual({ code: SpanStatusCode.ERROR, message: 'TypeError' });
});

test('N2 a duplicate of a running key counts as a conflict', async () => {
  const key = freshKey();
  const operation = kit(database.client, { waitMs: 0 }).operation({ name: 'slow', schema: anything });
  const slow = operation.handler(async () => {
    expect(await slow.execute({ key, payload: {} })).toMatchObject({ code: 'in_flight' });
    return {};
  });
  expect(await slow.execute({ key, payload: {} })).toMatchObject({ ok: true });
  expectCounted(await seen.counted()).toMatchObject({ 'idempotent.conflict slow': 1, 'idempotent.created slow': 1 });
});

test('N2 gauges tell of what is unfinished, and that it is gone', async () => {
  const key = freshKey();
  const { idempotency, checkout } = shop();
  const end = idempotency.gauge([checkout]);
  const gauges = async () =>
    Object.fromEntries(Object.entries(await seen.counted()).filter(([name]) => / pay( |$)/.test(name)));
  await database.client.$executeRaw`DELETE FROM idempotency_keys`;
  expect(await gauges()).toMatchObject({ 'idempotent.keys pay in_progress': 0, 'idempotent.stuck pay': 0 });
  provider.faults = ['refused', 'refused', 'refused', 'refused'];
  await checkout.execute({ key, payload: {} });
  await database.client.$executeRaw`UPDATE idempotency_keys SET claimed_at = now() - interval '90 s'`;
  const unfinished = await gauges();
  expect(unfinished).toMatchObject({ 'idempotent.keys pay in_progress': 1, 'idempotent.stuck pay': 1 });
  expect(unfinished['idempotent.oldest_in_progress_seconds pay']).toBeGreaterThanOrEqual(90);
  await expire(key);
  await idempotency.completeDue();
  expect(await gauges()).toMatchObject({
    'idempotent.keys pay in_progress': 0,
    'idempotent.stuck pay': 0,
    'idempotent.oldest_in_progress_seconds pay': 0,
  });
  end();
});

test('N2 a gauge tells of stuck keys whose operation is not listed', async () => {
  const { checkout } = shop();
  await database.client.$executeRaw`DELETE FROM idempotency_keys`;
  provider.faults = ['refused', 'refused', 'refused', 'refused'];
  await checkout.execute({ key: freshKey(), payload: {} });
  const unlistedIn = async (operations: { name: string }[]) => {
    const end = kit(database.client).gauge(operations);
    const value = (await seen.counted())['idempotent.unlisted pay'];
    end();
    return value;
  };
  expect(await unlistedIn([{ name: 'other' }])).toBe(1);
  expect(await unlistedIn([{ name: 'other' }, checkout])).toBe(0);
  expect(await unlistedIn([])).toBe(0);
});

test('N2 a settled key that waits for a person is stuck, and needs no worker', async () => {
  const key = freshKey();
  const { checkout } = shop();
  await database.client.$executeRaw`DELETE FROM idempotency_keys`;
  await checkout.execute({ key, payload: {} });
  await database.client.$executeRaw`UPDATE idempotency_keys SET needs_attention = true WHERE key = ${key}`;
  const end = kit(database.client).gauge([{ name: 'other' }]);
  expect(await seen.counted()).toMatchObject({
    'idempotent.keys pay in_progress': 0,
    'idempotent.stuck pay': 1,
    'idempotent.unlisted pay': 0,
  });
  end();
});

test('what nobody records leaves nothing in the row', async () => {
  const key = freshKey();
  const ids = { traceId: 'a'.repeat(32), spanId: 'b'.repeat(16) };
  const unsampled = trace.setSpanContext(context.active(), { ...ids, traceFlags: TraceFlags.NONE });
  await context.with(unsampled, () => order().execute({ key, payload: {} }));
  expect(await rowOf(key)).toMatchObject({ state: 'succeeded', traceParent: null });
});

test('a log that fails changes nothing', async () => {
  const rejecting = async () => {
    throw new Error('no room on the disk');
  };
  for (const failing of [() => rejecting(), () => JSON.parse('')]) {
    const on = kit(database.client, { log: failing }).operation({ name: 'logged', schema: anything });
    expect(await on.handler(async () => 1).execute({ key: freshKey(), payload: {} })).toMatchObject({ ok: true });
  }
});
