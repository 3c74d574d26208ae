/** The faults the proxy can play, and which request gets which. Pure: no sockets, no clock. */

export const FAULT_KINDS = [
  'lose-answer',
  /** Ends the connection after `share` of the answer's body, and `ms` later. The app has answered whole by then. */
  'mid-answer',
  'lose-request',
  /** Cuts the client off at once; the request reaches the app on `POST /__proxy/release`, or after `ms` if that is set. */
  'late-request',
  'delay',
  'delay-answer',
  'status',
  'kill-app',
] as const;
export type FaultKind = (typeof FAULT_KINDS)[number];

export interface Match {
  method?: string;
  path?: string;
  /** The mark in the client's `oncekit_lab` cookie: one visitor's faults are nobody else's. */
  visitor?: string;
}

export interface FaultRule {
  id: number;
  match: Match;
  kind: FaultKind;
  /** How many requests it still hits. A spent rule stays listed, with 0. */
  remaining: number;
  times: number;
  /** It heals by itself so long after it was made. Milliseconds. */
  forMs?: number;
  /** How long to hold the request or the answer, or to wait before the connection ends or the app is killed. Milliseconds. */
  ms: number;
  status: number;
  /** Of `mid-answer`: how much of the body arrives. 0: the headers alone; 1: all of it, but not that it has ended. */
  share: number;
  /** Seconds, for the `Retry-After` header of a `status` fault. */
  retryAfter?: number;
  /** For the `Location` header of a `status` fault: where a proxy leads that wants a sign-in. */
  location?: string;
  /** `false` answers `Connection: close`. */
  keepAlive: boolean;
  /** For `kill-app`: before the request is forwarded, or right after it was sent. */
  when: 'before' | 'after';
}

/** A control request that makes no sense. Its message is a sentence for the person who sent it. */
export class FaultInputError extends Error {}

const FIELDS = [
  'match',
  'kind',
  'times',
  'forMs',
  'ms',
  'status',
  'share',
  'retryAfter',
  'location',
  'keepAlive',
  'when',
];

/** Reads a rule from a control request's body. Throws `FaultInputError`; an unknown field is refused as a typo. */
export function parseRule(body: unknown): Omit<FaultRule, 'id' | 'remaining'> {
  const input = objectWith(body, FIELDS, 'The body');
  const kind = oneOf(input.kind, FAULT_KINDS, '"kind"');
  const retryAfter = input.retryAfter === undefined ? undefined : integer(input.retryAfter, 0, 86_400, '"retryAfter"');
  const forMs = input.forMs === undefined ? undefined : integer(input.forMs, 1, 600_000, '"forMs"');
  return {
    match: parseMatch(input.match ?? {}),
    kind,
    times: integer(input.times ?? 1, 1, 1_000_000, '"times"'),
    ...(forMs === undefined ? {} : { forMs }),
    ms: integer(input.ms ?? 0, 0, 600_000, '"ms"'),
    status: integer(input.status ?? 503, 200, 599, '"status"'),
    share: fraction(input.share ?? 0.5, '"share"'),
    ...(retryAfter === undefined ? {} : { retryAfter }),
    ...(input.location === undefined ? {} : { location: address(input.location, '"location"') }),
    keepAlive: parseEnabled(input.keepAlive ?? true, '"keepAlive"'),
    when: oneOf(input.when ?? 'after', ['before', 'after'] as const, '"when"'),
  };
}

/** Reads the body of the keep-alive switch. */
export function parseKeepAlive(body: unknown): boolean {
  return parseEnabled(objectWith(body, ['enabled'], 'The body').enabled, '"enabled"');
}

/** Conditions of a rule on a request. */
export interface Asked {
  visitor?: string | null | undefined;
  /** Milliseconds, of whatever clock the rules were added by. */
  now?: number | undefined;
}

export class FaultList {
  #rules: (FaultRule & { until?: number })[] = [];
  #lastId = 0;

  add(rule: Omit<FaultRule, 'id' | 'remaining'>, now = 0): FaultRule {
    const added = { id: ++this.#lastId, ...rule, remaining: rule.times };
    // Those of visitors who have gone would pile up: each came for a short while only.
    this.#rules = this.#rules.filter((each) => each.until === undefined || each.until > now);
    this.#rules.push(rule.forMs === undefined ? added : { ...added, until: now + rule.forMs });
    return added;
  }

  list(): readonly FaultRule[] {
    return this.#rules.map(({ until: _, ...rule }) => rule);
  }

  /** Ends all rules; or those of one visitor. */
  clear(visitor?: string): void {
    this.#rules = visitor === undefined ? [] : this.#rules.filter(({ match }) => match.visitor !== visitor);
  }

  /** Ends one rule. Says whether there was one. */
  remove(id: number): boolean {
    const before = this.#rules.length;
    this.#rules = this.#rules.filter((rule) => rule.id !== id);
    return this.#rules.length < before;
  }

  /** The oldest rule that fits and is not spent, counted down by one. */
  take(method: string, pathname: string, { visitor = null, now = 0 }: Asked = {}): FaultRule | undefined {
    const rule = this.#rules.find(
      (each) =>
        each.remaining > 0 &&
        (each.until === undefined || now < each.until) &&
        (each.match.visitor === undefined || each.match.visitor === visitor) &&
        fits(each.match, method, pathname),
    );
    if (rule) rule.remaining -= 1;
    return rule;
  }
}

function fits(match: Match, method: string, pathname: string): boolean {
  if (match.method !== undefined && match.method !== method) return false;
  if (match.path === undefined) return true;
  return match.path.endsWith('*') ? pathname.startsWith(match.path.slice(0, -1)) : pathname === match.path;
}

function parseMatch(value: unknown): Match {
  const { method, path, visitor } = objectWith(value, ['method', 'path', 'visitor'], '"match"');
  if (method !== undefined && typeof method !== 'string') throw new FaultInputError('"match.method" must be a string.');
  if (path !== undefined && (typeof path !== 'string' || !/^[/*]/.test(path) || path.includes('?'))) {
    throw new FaultInputError(
      '"match.path" must be a path that starts with "/" and has no query; a final "*" is a prefix.',
    );
  }
  if (visitor !== undefined && !isVisitor(visitor)) {
    throw new FaultInputError('"match.visitor" must be the mark of a visitor: 1 to 64 letters, digits, "-" and "_".');
  }
  return {
    ...(method === undefined ? {} : { method: method.toUpperCase() }),
    ...(path === undefined ? {} : { path }),
    ...(visitor === undefined ? {} : { visitor }),
  };
}

/** The cookie that marks a visitor of the lab. Not a secret: it opens nothing. */
const VISITOR_COOKIE = 'oncekit_lab';

/** The visitor whom a request's `Cookie` header marks; null: nobody in particular. */
export function visitorOf(cookies: string | undefined): string | null {
  for (const each of (cookies ?? '').split(';')) {
    const [name, value] = each.trim().split('=');
    if (name === VISITOR_COOKIE && isVisitor(value)) return value;
  }
  return null;
}

function isVisitor(value: unknown): value is string {
  return typeof value === 'string' && /^[\w-]{1,64}$/.test(value);
}

function objectWith(value: unknown, fields: string[], name: string): Record<string, unknown> {
  if (typeof value !== 'object' || value === null || Array.isArray(value)) {
    throw new FaultInputError(`${name} must be a JSON object.`);
  }
  const unknown = Object.keys(value).find((field) => !fields.includes(field));
  if (unknown !== undefined) {
    throw new FaultInputError(`${name} has an unknown field "${unknown}". Known: ${fields.join(', ')}.`);
  }
  return value as Record<string, unknown>;
}

function oneOf<T extends string>(value: unknown, allowed: readonly T[], name: string): T {
  if (!allowed.includes(value as T)) throw new FaultInputError(`${name} must be one of: ${allowed.join(', ')}.`);
  return value as T;
}

function integer(value: unknown, min: number, max: number, name: string): number {
  if (typeof value !== 'number' || !Number.isInteger(value) || value < min || value > max) {
    throw new FaultInputError(`${name} must be a whole number from ${min} to ${max}.`);
  }
  return value;
}

function fraction(value: unknown, name: string): number {
  if (typeof value !== 'number' || !(value >= 0 && value <= 1)) {
    throw new FaultInputError(`${name} must be a number from 0 to 1.`);
  }
  return value;
}

function address(value: unknown, name: string): string {
  if (typeof value !== 'string' || !/^(https?:\/)?\/[!-~]+$/.test(value)) {
    throw new FaultInputError(`${name} must be a path, or an http address.`);
  }
  return value;
}

function parseEnabled(value: unknown, name: string): boolean {
  if (typeof value !== 'boolean') throw new FaultInputError(`${name} must be true or false.`);
  return value;
}
