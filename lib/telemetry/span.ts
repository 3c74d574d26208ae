import {
  type Attributes,
  context,
  isSpanContextValid,
  type Link,
  propagation,
  type Span,
  type SpanContext,
  SpanKind,
  SpanStatusCode,
  type Tracer,
  type TracerProvider,
  trace,
} from '@opentelemetry/api';

/**
 * The trace that is under way, as headers: `traceparent` and `tracestate`. Nothing where there is none. No baggage: it may
 * hold whatever the app knows of its user, and these headers go to others.
 */
export function traceHeaders(): Record<string, string> {
  const all: Record<string, string> = {};
  propagation.inject(context.active(), all);
  return Object.fromEntries(['traceparent', 'tracestate'].flatMap((name) => (all[name] ? [[name, all[name]]] : [])));
}

export type { Span };

interface SpanOptions {
  kind: Lowercase<keyof typeof SpanKind>;
  attributes: Attributes;
  /** Headers as `traceHeaders` gave them, maybe in another process: the span belongs to that trace. */
  from?: Record<string, string>;
  links?: Link[];
  /** The part of an error that the span shows; undefined: it is no failure. Default: the error. */
  blame?: (error: unknown) => unknown;
}

/**
 * Runs `work` in a span of its own. What it throws is thrown on, and shows in the span by its name alone: its message may
 * hold what was sent. Costs next to nothing where the app has set up no SDK.
 */
export async function inSpan<T>(
  name: string,
  { kind, attributes, from, links = [], blame = (error) => error }: SpanOptions,
  work: (span: Span) => Promise<T>,
): Promise<T> {
  const parent = from ? propagation.extract(context.active(), from) : context.active();
  const run = async (span: Span) => {
    try {
      return await work(span);
    } catch (error) {
      const blamed = blame(error);
      if (blamed !== undefined) markFailed(span, blamed);
      throw error;
    } finally {
      span.end();
    }
  };
  const options = { kind: SpanKind[kind.toUpperCase() as Uppercase<typeof kind>], attributes, links };
  return await trace.getTracer('oncekit').startActiveSpan(name, options, parent, run);
}

/**
 * Runs `work` in a span about a key. Without a tracer by itself: cheaper than a span that does nothing, and its attributes.
 */
export async function inKeySpan<T>(
  name: string,
  { operation, key, attempt, ...more }: { operation: string; key: string; attempt: number } & Partial<SpanOptions>,
  work: (span: Span | undefined) => Promise<T>,
): Promise<T> {
  if (!isTraced()) return await work(undefined);
  const attributes = {
    'idempotency.operation': operation,
    'idempotency.key': key,
    'idempotency.attempt': attempt,
    ...more.attributes,
  };
  return await inSpan(name, { kind: 'internal', ...more, attributes }, work);
}

/** Marks a span as failed, by the error's name alone. */
export function markFailed(span: Span, error: unknown): void {
  const message = error instanceof Error ? error.name : typeof error;
  span.setStatus({ code: SpanStatusCode.ERROR, message });
}

/**
 * Tells whether the app has set up a tracer. Asked where a call must not pay for what nobody records: cheaper than a span that
 * does nothing, with the attributes it would be given.
 */
export function isTraced(): boolean {
  // The API's own provider stands in until there is one, and knows whether there is. Of another copy of the API, so by
  // its shape.
  const provider: TracerProvider & { getDelegateTracer?(name: string): Tracer | undefined } = trace.getTracerProvider();
  return !provider.getDelegateTracer || provider.getDelegateTracer('oncekit') !== undefined;
}

/**
 * The span that is under way as a W3C `traceparent`, to be stored. Undefined where nothing is recorded: what nobody keeps
 * is not worth a column.
 *
 * @see https://www.w3.org/TR/trace-context/#traceparent-header
 */
export function recordedTraceParent(span: Span | undefined = trace.getActiveSpan()): string | undefined {
  if (!span?.isRecording()) return undefined;
  const { traceId, spanId, traceFlags } = span.spanContext();
  return `00-${traceId}-${spanId}-${traceFlags.toString(16).padStart(2, '0')}`;
}

/** The trace under way, by its id, so that a log line leads to it. */
export function currentTraceId(): string | undefined {
  return trace.getActiveSpan()?.spanContext().traceId;
}

/** A link to the span of a stored `traceparent`. Nothing where there is none, or it is none that can be read. */
export function linksTo(traceParent: string | null | undefined): Link[] {
  const [, traceId = '', spanId = '', flags = ''] = PARTS.exec(traceParent ?? '') ?? [];
  const context: SpanContext = { traceId, spanId, traceFlags: Number.parseInt(flags, 16), isRemote: true };
  return isSpanContextValid(context) ? [{ context }] : [];
}

const PARTS = /^00-([0-9a-f]{32})-([0-9a-f]{16})-([0-9a-f]{2})$/;
