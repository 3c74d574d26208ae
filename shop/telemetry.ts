import { createHash, timingSafeEqual } from 'node:crypto';
import { context, metrics, propagation, trace } from '@opentelemetry/api';
import { AsyncLocalStorageContextManager } from '@opentelemetry/context-async-hooks';
import { W3CTraceContextPropagator } from '@opentelemetry/core';
import { PrometheusSerializer } from '@opentelemetry/exporter-prometheus';
import { OTLPTraceExporter } from '@opentelemetry/exporter-trace-otlp-http';
import { MeterProvider, MetricReader } from '@opentelemetry/sdk-metrics';
import { BasicTracerProvider, BatchSpanProcessor } from '@opentelemetry/sdk-trace-base';
import { idempotency } from './idempotency.ts';
import { inbox } from './inbox.ts';
import { outbox } from './outbox.ts';

/** Collects when it is asked: whoever scrapes decides how often the database is. */
class Scraped extends MetricReader {
  protected override async onForceFlush() {}
  protected override async onShutdown() {}
}

interface Telemetry {
  reader: Scraped;
  /** The gauges ask the database: begun by the first scrape, and so in no process that nobody scrapes. */
  hasGauges: boolean;
  tracing: BasicTracerProvider | undefined;
}

const held = globalThis as { oncekitDemoTelemetry?: Telemetry };

/**
 * Sets OpenTelemetry up, once per process and before anything is counted. Metrics always, for `/api/metrics`; traces where
 * `OTEL_EXPORTER_OTLP_ENDPOINT` says who keeps them, for recording what nobody keeps costs and tells nothing.
 *
 * @param service what this process is called in the traces; `OTEL_SERVICE_NAME` goes before it
 */
export function startTelemetry(service: string): void {
  if (held.oncekitDemoTelemetry) return;
  const reader = new Scraped();
  metrics.setGlobalMeterProvider(new MeterProvider({ readers: [reader] }));
  const tracing = startTracing(process.env.OTEL_SERVICE_NAME || service);
  held.oncekitDemoTelemetry = { reader, hasGauges: false, tracing };
}

/** Sends what has been recorded. For a process that is about to end; never throws. */
export async function flushTelemetry(): Promise<void> {
  await held.oncekitDemoTelemetry?.tracing?.shutdown().catch(() => {});
}

function startTracing(service: string): BasicTracerProvider | undefined {
  const { OTEL_EXPORTER_OTLP_ENDPOINT, OTEL_EXPORTER_OTLP_TRACES_ENDPOINT } = process.env;
  if (!OTEL_EXPORTER_OTLP_ENDPOINT && !OTEL_EXPORTER_OTLP_TRACES_ENDPOINT) return undefined;
  // By hand, because the package that makes one is not among ours.
  const attributes = { 'service.name': service };
  const resource = { attributes, merge: () => resource, getRawAttributes: () => Object.entries(attributes) };
  const spanProcessors = [new BatchSpanProcessor(new OTLPTraceExporter(), { scheduledDelayMillis: 1000 })];
  const provider = new BasicTracerProvider({ resource, spanProcessors });
  context.setGlobalContextManager(new AsyncLocalStorageContextManager().enable());
  propagation.setGlobalPropagator(new W3CTraceContextPropagator());
  trace.setGlobalTracerProvider(provider);
  return provider;
}

/**
 * Answers `/api/metrics`: Prometheus text for whoever knows `METRICS_TOKEN`, 401 for all others (X2).
 *
 * @param operations what is told from the first scrape on, as 0
 */
export async function metricsAnswer(request: Request, operations: readonly { name: string }[]): Promise<Response> {
  const { METRICS_TOKEN: token } = process.env;
  const headers = { 'Cache-Control': 'no-store' };
  if (!token || !knows(request, token)) {
    return new Response('This needs the metrics token: Authorization: Bearer …\n', {
      status: 401,
      headers: { ...headers, 'Content-Type': 'text/plain; charset=utf-8', 'WWW-Authenticate': 'Bearer' },
    });
  }
  const text = held.oncekitDemoTelemetry ? await collect(held.oncekitDemoTelemetry, operations) : '';
  return new Response(text, { headers: { ...headers, 'Content-Type': 'text/plain; version=0.0.4; charset=utf-8' } });
}

async function collect(telemetry: Telemetry, operations: readonly { name: string }[]): Promise<string> {
  if (!telemetry.hasGauges) {
    telemetry.hasGauges = true;
    idempotency.gauge(operations);
    outbox.gauge();
    inbox.gauge();
  }
  const { resourceMetrics } = await telemetry.reader.collect();
  return serializer.serialize(resourceMetrics);
}

const serializer = new PrometheusSerializer(undefined, false, undefined, true, true);

/** Compares digests: how long it takes says nothing about the token, nor about its length. */
function knows(request: Request, token: string): boolean {
  const [, given] = /^bearer +(\S+) *$/i.exec(request.headers.get('authorization') ?? '') ?? [];
  const digest = (text: string) => createHash('sha256').update(text).digest();
  return given !== undefined && timingSafeEqual(digest(given), digest(token));
}
