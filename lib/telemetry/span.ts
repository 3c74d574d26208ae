import {
  type Attributes,
  context,
  type Link,
  propagation,
  type Span,
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

export interface SpanOptions {
  kind: keyof typeof KINDS;
  attributes: Attributes;
  /** Headers as `traceHeaders` gave them, maybe in another process: the span belongs to that trace. */
  from?: Record<string, string>;
  links?: Link[];
  /** The part of an error that the span shows; undefined: it is no failure. Default: the error. */
  blame?: (error: unknown) => unknown;
}

const KINDS = {
  internal: SpanKind.INTERNAL,
  client: SpanKind.CLIENT,
  producer: SpanKind.PRODUCER,
  consumer: SpanKind.CONSUMER,
};

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
  return await trace.getTracer('oncekit').startActiveSpan(name, { kind: KINDS[kind], attributes, links }, parent, run);
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
