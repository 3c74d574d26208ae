import { randomUUID } from 'node:crypto';
import { once } from 'node:events';
import { type IncomingHttpHeaders, type IncomingMessage, request as overHttp } from 'node:http';
import { request as overHttps } from 'node:https';
import { IdempotencyError, tryOr } from '../../core/errors.ts';
import type { ConformanceTarget, JsonObject } from './target.ts';

/** A request to the target; what is left out is as it should be. */
export interface Sent {
  method?: string;
  /** Default: the guarded path. */
  path?: string;
  /** Sent in quotes. Null: no such header. */
  key?: string | null;
  /** `Idempotency-Key` as it goes over the wire, instead of `key`; several: several headers. */
  rawKey?: string | string[];
  /** Sent as JSON. */
  body?: unknown;
  /** Sent as it is, instead of `body`. */
  raw?: string | Uint8Array;
  /** The principal who acts. Default: the target's first one. */
  as?: Readonly<Record<string, string>>;
  /** More headers, or other ones; undefined takes one away. */
  headers?: Readonly<Record<string, string | undefined>>;
}

/** An answer, to the byte. */
export interface EndpointAnswer {
  status: number;
  headers: IncomingHttpHeaders;
  text: string;
  /** The body as JSON; an empty object where it is none. */
  json: Record<string, unknown>;
}

const PATIENCE_MS = 30_000;

/** The endpoint that is tried. What a method says of an answer must hold, or it throws a ConformanceError. */
export class Endpoint<Target extends ConformanceTarget = ConformanceTarget> {
  readonly target: Target;

  constructor(target: Target) {
    this.target = target;
  }

  /** A key that was never used, and a body that is accepted. */
  newRequest(): { key: string; body: JsonObject } {
    return { key: randomUUID(), body: this.target.body() };
  }

  /**
   * Sends one request and reads its answer to the end. Through `node:http`, because `fetch` joins two headers of one name,
   * and refuses some that others send.
   */
  async send(sent: Sent): Promise<EndpointAnswer> {
    const { origin, method: guarded = 'POST', path: guardedPath, headers: first } = this.target;
    const { method = guarded, path = guardedPath, key = null, as = first } = sent;
    const bytes = sent.raw ?? (sent.body === undefined ? undefined : JSON.stringify(sent.body));
    const headers: Record<string, string | string[] | undefined> = {
      // A server that refuses a large body half-way, and is to close, hangs up on a client that still sends: it would
      // see a broken pipe instead of the answer.
      Connection: 'keep-alive',
      ...as,
      ...(bytes === undefined
        ? {}
        : { 'Content-Type': 'application/json', 'Content-Length': String(Buffer.byteLength(bytes)) }),
      'Idempotency-Key': sent.rawKey ?? (key === null ? undefined : `"${key}"`),
      ...sent.headers,
    };
    const given = Object.fromEntries(Object.entries(headers).filter(([, value]) => value !== undefined));
    const url = new URL(path, origin);
    const request = url.protocol === 'https:' ? overHttps : overHttp;
    const how = { method, headers: given, agent: false, signal: AbortSignal.timeout(PATIENCE_MS) } as const;
    const outgoing = request(url, how);
    const answered = once(outgoing, 'response');
    // An error behind the answer does not matter.
    outgoing.on('error', () => {});
    outgoing.end(bytes);
    const [incoming] = (await answered) as [IncomingMessage];
    const text = Buffer.concat(await incoming.toArray()).toString('utf8');
    return { status: incoming.statusCode ?? 0, headers: incoming.headers, text, json: parsed(text) };
  }

  /** Sends what is accepted, under a key that was not used: executed now, by this request. */
  async executes(sent: Sent): Promise<EndpointAnswer> {
    const answer = await this.send({ body: this.target.body(), ...sent });
    holds('It is executed', isSuccess(answer), shown(answer), 'a 2xx answer');
    same('Idempotency-Status of the first answer', answer.headers['idempotency-status'], 'stored');
    return answer;
  }

  /** Has a body executed under a new key. The request, to be sent again, and its answer. */
  async executesNew(): Promise<{ key: string; body: JsonObject; first: EndpointAnswer }> {
    const request = this.newRequest();
    return { ...request, first: await this.executes(request) };
  }

  /** Sends what was executed before: answered with what is stored. */
  async replays(sent: Sent): Promise<EndpointAnswer> {
    const answer = await this.send(sent);
    same(`Idempotency-Status of the replay, ${shown(answer)}`, answer.headers['idempotency-status'], 'replayed');
    return answer;
  }

  /** Sends what is refused, with this status and code. */
  async refuses(sent: Sent, status: number, ...codes: string[]): Promise<EndpointAnswer> {
    const answer = await this.send(sent);
    holds('The status of the refusal', answer.status === status, shown(answer), status);
    holds('The code of the refusal', codes.includes(String(answer.json.code)), shown(answer), codes.join(' or '));
    return answer;
  }

  /** Refuses a request under a new key, and uses nothing up: the same key then executes what is right. */
  async refusesUnused(sent: Sent, status: number, code: string): Promise<void> {
    const key = randomUUID();
    await this.refuses({ key, ...sent }, status, code);
    await this.isUnused(key);
  }

  /** Sends a used key with something else: a mismatch, and not executed. */
  async mismatches(sent: Sent & { key: string }): Promise<void> {
    await this.refuses(sent, 422, 'payload_mismatch');
    await this.hasEffects(sent.key, 1);
  }

  /** Only where the target counts them. */
  async hasEffects(key: string, expected: number): Promise<void> {
    if (this.target.effects) same('The number of effects', await this.target.effects(key), expected);
  }

  /** The key has executed nothing so far, and executes what is right. */
  async isUnused(key: string): Promise<void> {
    await this.hasEffects(key, 0);
    await this.executes({ key });
    await this.hasEffects(key, 1);
  }
}

function parsed(text: string): Record<string, unknown> {
  const value: unknown = tryOr(() => JSON.parse(text), undefined);
  return typeof value === 'object' && value !== null ? (value as Record<string, unknown>) : {};
}

/** The endpoint does not keep a rule. `existing` is what it did, `expected` what the contract says. */
export class ConformanceError extends IdempotencyError {
  override readonly name = 'ConformanceError';
}

/** @throws ConformanceError unless both are the same JSON */
export function same(what: string, existing: unknown, expected: unknown): void {
  holds(what, JSON.stringify(existing) === JSON.stringify(expected), existing, expected);
}

/** @throws ConformanceError unless it fits */
export function fits(what: string, existing: unknown, pattern: RegExp): void {
  holds(what, typeof existing === 'string' && pattern.test(existing), existing, String(pattern));
}

/** @throws ConformanceError unless it holds */
export function holds(what: string, isSo: boolean, existing: unknown, expected: unknown): void {
  if (isSo) return;
  const words = `${what}: existing ${JSON.stringify(existing)}, expected ${JSON.stringify(expected)}`;
  throw new ConformanceError(words, { existing, expected });
}

export function isSuccess({ status }: EndpointAnswer): boolean {
  return status >= 200 && status < 300;
}

/** An answer in one line. */
export function shown({ status, text }: EndpointAnswer): string {
  return `${status} ${text.slice(0, 400)}`;
}

/** The abilities of a target that a case may need. */
type Optional = {
  [Name in keyof ConformanceTarget]-?: undefined extends ConformanceTarget[Name] ? Name : never;
}[keyof ConformanceTarget];

/** One rule of the contract, seen from outside. */
export interface ConformanceCase {
  /** The rule's name: `key syntax`, `replay`. */
  readonly rule: string;
  readonly name: string;
  /** The abilities that the target must have for it. */
  readonly needs: readonly Optional[];
  /** @throws ConformanceError when the endpoint does not keep the rule */
  run(target: ConformanceTarget): Promise<void>;
}

/** Makes cases that need some of a target's abilities: `rule`, `name`, and what is tried. */
export function caseWith<const Needed extends Optional = never>(...needs: readonly Needed[]) {
  type Target = ConformanceTarget & Required<Pick<ConformanceTarget, Needed>>;
  return (rule: string, name: string, run: (api: Endpoint<Target>) => Promise<void>): ConformanceCase => ({
    rule,
    name,
    needs,
    run: (target) => run(new Endpoint(target as Target)),
  });
}

export const caseOf = caseWith();
