import { isSpanContextValid, type Link, type Span, type SpanContext, trace } from '@opentelemetry/api';

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
