import { context, metrics, propagation, trace } from '@opentelemetry/api';
import { AsyncLocalStorageContextManager } from '@opentelemetry/context-async-hooks';
import { W3CTraceContextPropagator } from '@opentelemetry/core';
import { MeterProvider, MetricReader } from '@opentelemetry/sdk-metrics';
import {
  BasicTracerProvider,
  InMemorySpanExporter,
  type ReadableSpan,
  SimpleSpanProcessor,
} from '@opentelemetry/sdk-trace-base';

/** Hands the metrics out when it is asked. */
class Asked extends MetricReader {
  protected override async onForceFlush() {}
  protected override async onShutdown() {}
}

/** A real SDK in this process, and what it was told. */
export function watchEverything() {
  const exporter = new InMemorySpanExporter();
  const reader = new Asked();
  context.setGlobalContextManager(new AsyncLocalStorageContextManager().enable());
  propagation.setGlobalPropagator(new W3CTraceContextPropagator());
  trace.setGlobalTracerProvider(new BasicTracerProvider({ spanProcessors: [new SimpleSpanProcessor(exporter)] }));
  metrics.setGlobalMeterProvider(new MeterProvider({ readers: [reader] }));
  return {
    forget: () => exporter.reset(),
    spans: () => exporter.getFinishedSpans(),
    named: (name: string) => exporter.getFinishedSpans().filter((span) => span.name === name),
    /** `name` and its attributes' values, and what was counted until now. Of a histogram, how often. */
    counted: async (): Promise<Record<string, number>> => {
      const { resourceMetrics } = await reader.collect();
      const all = resourceMetrics.scopeMetrics.flatMap((scope) => scope.metrics);
      const points = all.flatMap(({ descriptor, dataPoints }) =>
        dataPoints.map(({ attributes, value }): [string, number] => [
          [descriptor.name, ...Object.values(attributes)].join(' '),
          typeof value === 'number' ? value : value.count,
        ]),
      );
      return Object.fromEntries(points);
    },
  };
}

/** A span as a row holds it: `00-<trace>-<span>-01`. */
export function traceParentOf(span: ReadableSpan | undefined): string | undefined {
  return span && `00-${span.spanContext().traceId}-${span.spanContext().spanId}-01`;
}

/** The spans that a span is linked to, in the same form. */
export function linksOf(span: ReadableSpan | undefined): string[] {
  return span?.links.map(({ context: { traceId, spanId } }) => `00-${traceId}-${spanId}-01`) ?? [];
}
