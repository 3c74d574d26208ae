import { context, metrics, propagation, SpanStatusCode, trace } from '@opentelemetry/api';
import { AsyncLocalStorageContextManager } from '@opentelemetry/context-async-hooks';
import { W3CTraceContextPropagator } from '@opentelemetry/core';
import { MeterProvider, MetricReader } from '@opentelemetry/sdk-metrics';
import { BasicTracerProvider, InMemorySpanExporter, SimpleSpanProcessor } from '@opentelemetry/sdk-trace-base';
import { afterAll, beforeAll, beforeEach, expect, test } from 'vitest';
import { expectCounted } from '../../scripts/testing/expect-counted.ts';
import { type TestDatabase, testDatabase } from '../../scripts/testing/test-database.ts';
import { announce, destination, outboxOn, timePasses } from './messaging.fixture.ts';
import { createInbox } from './prisma.ts';

/** Hands the metrics out when it is asked. */
class Asked extends MetricReader {
  protected override async onForceFlush() {}
  protected override async onShutdown() {}
}

const SECRET = 'what-no-trace-may-hold';
const spans = new InMemorySpanExporter();
const reader = new Asked();

let database: TestDatabase;
let client: TestDatabase['client'];
beforeAll(async () => {
  context.setGlobalContextManager(new AsyncLocalStorageContextManager().enable());
  propagation.setGlobalPropagator(new W3CTraceContextPropagator());
  trace.setGlobalTracerProvider(new BasicTracerProvider({ spanProcessors: [new SimpleSpanProcessor(spans)] }));
  metrics.setGlobalMeterProvider(new MeterProvider({ readers: [reader] }));
  database = await testDatabase();
  client = database.client;
});
afterAll(() => database?.drop());
beforeEach(() => spans.reset());

/** `name{peer,outcome}` and its value, of all that was counted until now. */
async function counted(): Promise<Record<string, unknown>> {
  const { resourceMetrics } = await reader.collect();
  const all = resourceMetrics.scopeMetrics.flatMap((scope) => scope.metrics);
  return Object.fromEntries(
    all.flatMap(({ descriptor, dataPoints }) =>
      dataPoints.map(({ attributes, value }) => [`${descriptor.name} ${Object.values(attributes).join(' ')}`, value]),
    ),
  );
}

test('one trace leads from the transaction over the relay to the destination, and holds no payload', async () => {
  const sink = destination('traced', { attempts: 2 });
  const outbox = outboxOn(client, [sink.route]);
  sink.behave = () => {
    if (sink.sent.length === 1) throw new Error(SECRET);
  };
  const { eventId, traceId } = await trace.getTracer('app').startActiveSpan('checkout', async (span) => {
    const event = { type: 'order.paid', aggregate: 'traced', payload: { card: SECRET } };
    const announced = await client.$transaction((tx) => outbox.enqueue(tx, event));
    span.end();
    return { ...announced, traceId: span.spanContext().traceId };
  });
  await outbox.relayDue();
  await timePasses(client);
  await outbox.relayDue();
  expect(sink.sent.map(({ headers }) => headers.traceparent?.split('-')[1])).toEqual([traceId, traceId]);
  const sends = spans.getFinishedSpans().filter(({ name }) => name === 'send traced');
  expect(sends.map((span) => span.spanContext().traceId)).toEqual([traceId, traceId]);
  expect(sends.map(({ status }) => status)).toEqual([
    { code: SpanStatusCode.ERROR, message: 'Error' },
    { code: SpanStatusCode.UNSET },
  ]);
  expect(sends[1]?.attributes).toEqual({
    'messaging.operation.name': 'send',
    'messaging.message.id': eventId,
    'messaging.destination.name': 'traced',
    'oncekit.event.type': 'order.paid',
    'oncekit.attempt': 2,
  });
  expect(JSON.stringify(sends.map(({ attributes, events, status }) => [attributes, events, status]))).not.toContain(
    SECRET,
  );
});

test('what became of events is counted, by destination and source, and what waits shows in gauges', async () => {
  const [well, ill] = [destination('well'), destination('ill', { attempts: 1 })];
  ill.behave = () => {
    throw new Error('down');
  };
  const outbox = outboxOn(client, [well.route, ill.route]);
  await announce(client, outbox, 'counted', 2);
  await outbox.relayDue();
  const inbox = createInbox({ prisma: client, onReport: () => {} });
  const receive = (payload: unknown, run = async () => {}) =>
    inbox.receiveOnce({ source: 'sender', eventId: 'e1', payload }, run);
  await receive(1, async () => {
    throw new TypeError(SECRET);
  });
  await receive(1);
  await receive(2);
  const ends = [outbox.gauge(), inbox.gauge()];
  expectCounted(await counted()).toMatchObject({
    'outbox.deliveries well delivered': 2,
    'outbox.deliveries ill dead': 1,
    'outbox.lag well': { count: 2 },
    'outbox.open ill dead': 1,
    'outbox.open ill pending': 1,
    'outbox.oldest_open_seconds ill dead': expect.any(Number),
    'inbox.receptions sender failed': 1,
    'inbox.receptions sender processed': 1,
    'inbox.receptions sender replayed': 1,
    'inbox.receptions sender mismatch': 1,
  });
  const receptions = spans.getFinishedSpans().filter(({ name }) => name === 'process sender');
  expect(receptions.map(({ attributes, status }) => [attributes['oncekit.outcome'], status.message])).toEqual([
    ['failed', 'TypeError'],
    ['processed', undefined],
    ['replayed', undefined],
  ]);
  ill.behave = () => {};
  await outbox.requeueAll('ill', 'alice');
  await outbox.relayDue();
  expectCounted(await counted()).toMatchObject({ 'outbox.open ill dead': 0, 'outbox.oldest_open_seconds ill dead': 0 });
  for (const end of ends) end();
});
