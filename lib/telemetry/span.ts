import { type Attributes, context, propagation, type Span, SpanKind, SpanStatusCode, trace } from '@opentelemetry/api';

/**
 * The trace that is under way, as headers: `traceparent` and `tracestate`. Nothing where there is none. No baggage: it may
 * hold whatever the app knows of its user, and these headers go to others.
 */
export function traceHeaders(): Record<string, string> {
  const all: Record<string, string> = {};
  propagation.inject(context.active(), all);
  return Object.fromEntries(['traceparent', 'tracestate'].flatMap((name) => (all[name] ? [[name, all[name]]] : [])));
}

export interface SpanOptions {
  kind: 'producer' | 'consumer';
  attributes: Attributes;
  /** Headers as `traceHeaders` gave them, maybe in another process: the span belongs to that trace. */
  from?: Record<string, string>;
}

const KINDS = { producer: SpanKind.PRODUCER, consumer: SpanKind.CONSUMER };

/**
 * Runs `work` in a span of its own. What it throws is thrown on, and shows in the span by its name alone: its message may
 * hold what was sent. Costs next to nothing where the app has set up no SDK.
 */
export async function inSpan<T>(
  name: string,
  { kind, attributes, from }: SpanOptions,
  work: (span: Span) => Promise<T>,
): Promise<T> {
  const parent = from ? propagation.extract(context.active(), from) : context.active();
  const run = async (span: Span) => {
    try {
      return await work(span);
    } catch (error) {
      failed(span, error);
      throw error;
    } finally {
      span.end();
    }
  };
  return await trace.getTracer('oncekit').startActiveSpan(name, { kind: KINDS[kind], attributes }, parent, run);
}

/** Marks a span as one of something that failed. */
export function failed(span: Span, error: unknown): void {
  const message = error instanceof Error ? error.name : typeof error;
  span.setStatus({ code: SpanStatusCode.ERROR, message });
}
