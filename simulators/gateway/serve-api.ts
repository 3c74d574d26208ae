import type { IncomingMessage, ServerResponse } from 'node:http';
import { setTimeout as wait } from 'node:timers/promises';
import type { Outcome } from './call.ts';
import type { Fault } from './faults.ts';
import type { Gateway } from './gateway.ts';
import type { StoredAnswer } from './ledger.ts';
import { Params } from './params.ts';
import { readBody } from './read-body.ts';
import type { LogEntry } from './request-log.ts';
import { findRoute, type Route } from './routes.ts';
import { broken, lockTimeout, rateLimited, StripeError, unauthorized, unrecognized } from './stripe-error.ts';

/** The response: an answer, or a connection broken instead of one. */
interface Answer {
  status: number;
  body: string;
  headers?: Record<string, string>;
  lost?: boolean;
  latencyMs?: number;
  /** The key to hold until the answer is out. */
  holds?: string | undefined;
}

/** Answers a request to Stripe's API. Never rejects. */
export async function serveApi(req: IncomingMessage, res: ServerResponse, gateway: Gateway): Promise<void> {
  const entry = gateway.log.open(req, gateway.now());
  const [path = '/', query = ''] = entry.path.split('?', 2);
  if (gateway.faults.isDown(entry.method, path, gateway.now())) {
    entry.fault = 'down';
    return void req.socket.destroy();
  }
  try {
    const body = await readBody(req);
    if (!isAuthorized(req.headers.authorization)) throw unauthorized();
    await send(res, answer(gateway, entry, path, new Params(query, body)), entry, gateway);
  } catch (error) {
    if (!(error instanceof StripeError)) return void res.destroy(); // the client left
    await send(res, refusal(error), entry, gateway);
  }
}

/** One turn of the event loop from looking at the key to the line on the disk: no request gets in between. */
function answer(gateway: Gateway, entry: LogEntry, path: string, params: Params): Answer {
  const { method } = entry;
  const found = findRoute(method, path);
  const route = found?.finds && !gateway.settings.searchable ? undefined : found;
  const keyed = route && method === 'POST' && gateway.settings.honours_keys ? entry.idempotency_key : null;
  let fault: Fault | undefined;
  const given = orRefusal(() => {
    const stored = keyed === null ? undefined : gateway.keys.look({ key: keyed, path, params });
    const runs = route !== undefined && !stored;
    fault = gateway.faults.take({ method, path, runs, charges: route?.charges?.(params) ?? false });
    entry.fault = fault?.kind ?? null;
    if (fault?.kind === 'rate-limit') throw rateLimited();
    if (fault?.kind === 'lock-timeout') throw lockTimeout();
    if (fault?.kind === 'error-before') throw broken();
    if (!route) throw unrecognized(method, path);
    return stored ? replay(stored, entry) : run(gateway, entry, { route, path, params, keyed });
  });
  return {
    ...given,
    lost: fault?.kind === 'lose-answer',
    latencyMs: fault?.kind === 'latency' ? (fault.ms ?? 0) : 0,
  };
}

function orRefusal(run: () => Answer): Answer {
  try {
    return run();
  } catch (error) {
    if (error instanceof StripeError) return refusal(error);
    console.error(error);
    return refusal(broken());
  }
}

interface Run {
  route: Route & { id: string };
  path: string;
  params: Params;
  keyed: string | null;
}

function run(gateway: Gateway, entry: LogEntry, { route, path, params, keyed }: Run): Answer {
  const { ledger } = gateway;
  const origin = gateway.origin(entry);
  const declineAnyCard = entry.fault === 'decline';
  const outcome = settle(() => route.answer({ ledger, params, path, id: route.id, origin, declineAnyCard }));
  // As at Stripe, a failure after the effect is the key's answer from now on, although the effect is there.
  const { status, body } = entry.fault === 'error-after' ? failure(broken()) : outcome;
  const text = JSON.stringify(body, null, 2);
  if (entry.method === 'POST') {
    const fingerprint = params.fingerprint;
    gateway.commit({
      at: origin.at,
      ...(entry.idempotency_key === null ? {} : { requestKey: entry.idempotency_key }),
      ...(outcome.objects ? { objects: outcome.objects } : {}),
      ...(keyed === null ? {} : { answer: { key: keyed, path, fingerprint, status, body: text, requestId: entry.id } }),
    });
  }
  return { status, body: text, headers: retryAdvice(status), ...(keyed === null ? {} : { holds: keyed }) };
}

/** A refusal of a request that had begun is an outcome like any other; validation is not, and is thrown on. */
function settle(run: () => Outcome): Outcome {
  try {
    return run();
  } catch (error) {
    if (error instanceof StripeError && error.begun) return failure(error);
    throw error;
  }
}

function replay({ status, body, requestId }: StoredAnswer, entry: LogEntry): Answer {
  entry.replayed = true;
  return {
    status,
    body,
    headers: { ...retryAdvice(status), 'Idempotent-Replayed': 'true', 'Original-Request': requestId },
  };
}

/** A stored 500 is all that its key will ever answer: trying again is no use. */
function retryAdvice(status: number): Record<string, string> {
  return status >= 500 ? { 'Stripe-Should-Retry': 'false' } : {};
}

function failure({ status, fields }: StripeError): Outcome {
  return { status, body: { error: fields } };
}

function refusal(error: StripeError): Answer {
  const { status, body } = failure(error);
  const text = JSON.stringify(body, null, 2);
  if (status !== 429) return { status, body: text };
  return { status, body: text, headers: { 'Retry-After': '1', 'Stripe-Should-Retry': 'true' } };
}

async function send(res: ServerResponse, answer: Answer, entry: LogEntry, gateway: Gateway): Promise<void> {
  const { status, body, headers = {}, lost = false, latencyMs = 0, holds } = answer;
  if (latencyMs > 0) {
    if (holds !== undefined) gateway.keys.start(holds);
    await wait(latencyMs, undefined, { signal: gateway.closing.signal, ref: false }).catch(() => {});
    if (holds !== undefined) gateway.keys.end(holds);
  }
  if (lost || gateway.closing.signal.aborted) return void res.destroy();
  entry.status = status;
  res.writeHead(status, {
    'Content-Type': 'application/json',
    'Request-Id': entry.id,
    ...(entry.idempotency_key === null || entry.method !== 'POST' ? {} : { 'Idempotency-Key': entry.idempotency_key }),
    ...(status === 413 ? { Connection: 'close' } : {}),
    ...headers,
  });
  res.end(body);
}

function isAuthorized(header = ''): boolean {
  const [scheme = '', credentials = ''] = header.split(' ');
  return /^bearer$/i.test(scheme) ? credentials.startsWith('sk_test_') : /^basic$/i.test(scheme) && credentials !== '';
}
