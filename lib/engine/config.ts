import { ELSEWHERE, isProduction } from '../core/environment.ts';
import { assertSetUp, ConfigurationError } from '../core/errors.ts';
import { type Duration, optionNames, toMs } from '../core/options.ts';
import type { PrincipalInput } from '../core/scope.ts';
import { assertOnePurpose, assertStrong, weaknessOf } from '../core/secret-strength.ts';
import { LEAST_TO_SIGN, readSecrets, type Secrets, secretsIn } from '../core/secrets.ts';
import type { Begin } from './definition.ts';
import { type ErrorContext, errorReporter, type LogEntry, tracedLog } from './log.ts';

/**
 * Moments of an execution at which a process may die; tests kill it there. `commit` is that of the one transaction, or
 * of an atomic phase; those behind it are of phases alone.
 */
export type CrashPoint =
  | 'before-claim'
  | 'after-claim'
  | 'after-handler'
  | 'before-commit'
  | 'after-commit'
  /** Around the row that says: this foreign call is about to be sent. */
  | 'before-started'
  | 'after-started'
  /** The foreign system has answered, and nothing is written down yet. */
  | 'after-answer'
  /** The provider's answer is written down. */
  | 'after-recorded'
  /** Around the end: the result is stored and the key settles. */
  | 'before-finish'
  | 'after-finish';

/** How the kit behaves in one app. Every duration is milliseconds or a string such as `'24h'`. */
export interface Options {
  /**
   * Secrets that sign keys and key fingerprints, each of 32 characters or more: the first signs, all verify. Rotate
   * in two deploys: add the new one behind the old, then put it first. Required in production, which takes none that can
   * be guessed or that has another purpose as well. A string is split at its commas, as an environment variable has them.
   */
  secret?: string | readonly (string | undefined)[] | undefined;
  /**
   * Returns who acts in the current request, such as `{ principal: user.id }`; null when nobody is signed in. Not asked when
   * `execute` is given a scope.
   */
  scope?: () => Promise<PrincipalInput | null> | PrincipalInput | null;
  /** How old a minted key may be when it is first used. Default 24 h. */
  window?: Duration;
  /** How long a row is kept. At least the window plus 15 min. Default: the window plus 1 h. */
  retention?: Duration;
  /** How long a row of an operation in phases is kept. Default 72 h, or the retention where that is longer. */
  phasesRetention?: Duration;
  /** How long what people did is kept, in the audit. At least 30 days, which the database insists on. Default 365 days. */
  auditRetention?: Duration;
  /** How long an executor of phases is believed to be alive that says nothing. It says so three times as often. Default 30,000. */
  leaseMs?: number;
  /** The app's name in derived keys: keeps two apps apart that share an account elsewhere. Never change it. Default `oncekit`. */
  namespace?: string;
  /**
   * Says what each transaction of an execution begins with, for row-level security: the role that it runs as, and settings of your
   * own that policies ask for. They are sent as bound values with BEGIN, and end with the transaction. The kit's own statements in
   * it run as that role, which needs the rights that docs/row-level-security.md lists. In a worker `scope` is the key's own. What
   * cannot be set is a ConfigurationError, and no handler runs. Default: the client's own user, and no settings.
   */
  begin?: Begin;
  /** How long a duplicate waits for the first before it is told `in_flight`. Default 1000; 0: not at all. */
  waitMs?: number;
  /** The size of your client's connection pool; at most a fifth of it waits for claims of others. Default 10. */
  poolSize?: number;
  /**
   * True if an operation that is defined again under its name takes the place of the first; else that is a
   * ConfigurationError. For an instance that several evaluations of your modules share, such as one on `globalThis`: Next
   * evaluates them once for pages and once for routes. Default: in development alone, where an edit evaluates them anew; two
   * that are defined in one go are two there, too.
   */
  redefine?: boolean;
  /** The app's clock, for minting. Whether a key is too old is judged by the database's. */
  clock?: () => number;
  /**
   * Where your pages about the kit's error codes are, such as `/docs/errors` or `https://shop.example/docs/errors`: the
   * `type` of a problem is then `<it>/<code>`. Default: `about:blank`, which leads nowhere.
   */
  errorPages?: string;
  /**
   * The header in which your proxy writes the address that it has seen, such as `x-real-ip`; of a list, the last entry. For the
   * limit of the status route, and for `admit`. Name only one that your proxy sets itself: what a client may send, it may change
   * with each request. Default: none, and nobody's address is known.
   */
  addressHeader?: string | undefined;
  /**
   * Called with each transition of a key, each refusal and each error, as the fields of a log line, without payload, result
   * or secret. Give it to the logger of your app: `({ level, msg, ...fields }) => logger[level](fields, msg)`.
   */
  log?: (entry: LogEntry) => void | Promise<void>;
  /**
   * Called with what a handler, a check before it, an `afterCommit` or an `onSettled` threw. Default: a line on the
   * console; in production none where `log` is told.
   */
  onError?: (error: unknown, context: ErrorContext) => void | Promise<void>;
  /** Called at each moment at which a crash matters. For tests. */
  onPoint?: (point: CrashPoint, context: { operation: string; key: string; step?: string }) => void | Promise<void>;
}

/** All of them, by name. */
export const OPTIONS = optionNames<Options>()(
  'secret scope window retention phasesRetention auditRetention leaseMs namespace begin waitMs poolSize',
  'redefine clock errorPages addressHeader log onError onPoint',
);

const SECRET_OPTION = 'createIdempotency({ secret })';
const MARGIN_MS = 15 * 60_000;
const HOUR_MS = 3_600_000;
const DAY_MS = 24 * HOUR_MS;
/** A heartbeat needs room for a late one. */
const MIN_LEASE_MS = 300;

/** @throws ConfigurationError for durations that cannot protect, secrets that can be guessed, and pages that are nowhere */
export function readConfig(options: Options) {
  const windowMs = toMs(options.window ?? '24h', 'window');
  const retentionMs = toMs(options.retention ?? windowMs + HOUR_MS, 'retention');
  const tooShort = 'Rows would be deleted while their keys may still be used. Raise the retention.';
  const existing = `window ${windowMs} ms, retention ${retentionMs} ms`;
  const expected = 'a retention of at least the window plus 15 min';
  assertSetUp(retentionMs >= windowMs + MARGIN_MS, tooShort, { existing, expected });
  const secrets = readSecrets(secretsIn(options.secret));
  for (const { value } of secrets.all) {
    assertStrong(SECRET_OPTION, value);
    assertOnePurpose(SECRET_OPTION, value);
  }
  const log = tracedLog(options.log);
  const phasesRetentionMs = toMs(options.phasesRetention ?? Math.max(retentionMs, 72 * HOUR_MS), 'phasesRetention');
  return {
    secrets,
    scope: scopeOf(options.scope),
    windowMs,
    retentionMs,
    phasesRetentionMs: atLeast(retentionMs, phasesRetentionMs, 'phasesRetention'),
    auditRetentionMs: atLeast(30 * DAY_MS, toMs(options.auditRetention ?? '365d', 'auditRetention'), 'auditRetention'),
    leaseMs: atLeast(MIN_LEASE_MS, options.leaseMs ?? 30_000, 'leaseMs'),
    namespace: options.namespace ?? 'oncekit',
    begin: options.begin,
    waitMs: atLeast(0, options.waitMs ?? 1000, 'waitMs'),
    poolSize: atLeast(1, options.poolSize ?? 10, 'poolSize'),
    clock: options.clock ?? Date.now,
    // `edited`: an operation may be defined anew, and two of one name that come together are two.
    redefine: options.redefine ?? (process.env.NODE_ENV === 'development' && 'edited'),
    // Without a slash at its end.
    errorPages: pagesAt(options.errorPages),
    addressHeader: options.addressHeader,
    log,
    onError: errorReporter(options.onError, log),
    // Not called where there is none: an await costs even if there is nothing to wait for.
    onPoint: options.onPoint,
  };
}

/** The options, checked and filled in. */
export type Config = Readonly<ReturnType<typeof readConfig>>;

/** How a kit was set up, for those who look at an app from outside. */
export interface SetUp {
  /** How old a minted key may be when it is first used, in milliseconds. */
  windowMs: number;
  /** How long a row is kept, in milliseconds. */
  retentionMs: number;
  /** The secrets in their order: public ids, which tell nothing of them, and why one can be guessed. */
  secrets: readonly { id: string; weakness?: string | undefined }[];
}

export function setUpOf({ windowMs, retentionMs, secrets }: Config): SetUp {
  const seen = secrets.all.map(({ id, value }) => ({ id, weakness: weaknessOf(value, LEAST_TO_SIGN) }));
  return { windowMs, retentionMs, secrets: seen };
}

/**
 * Production refuses to run without a secret: keys would be unsigned and fingerprints could be probed. Asked at first
 * use and not at set-up, because a build evaluates the module too, and needs no secret.
 */
export function assertSecret(secrets: Secrets): void {
  const words = `No secret is configured. Make one with: openssl rand -base64 32. ${ELSEWHERE}`;
  const expected = 'createIdempotency({ secret: process.env.IDEMPOTENCY_SECRET })';
  assertSetUp(secrets.first || !isProduction(), words, { existing: 'secret: []', expected });
}

function atLeast(least: number, value: number, name: string): number {
  const expected = `a number of at least ${least}`;
  assertSetUp(Number.isFinite(value) && value >= least, `${name} cannot be used.`, { existing: value, expected });
  return value;
}

function pagesAt(address: string | undefined): string | undefined {
  if (address === undefined || /^(https?:\/\/[^/]|\/(?!\/))/.test(address)) return address?.replace(/\/+$/, '');
  const expected = 'a path that begins with /, or an URL of http or https';
  throw new ConfigurationError('errorPages is no address.', { existing: address, expected });
}

function scopeOf(scope: Options['scope'] = noScope): NonNullable<Options['scope']> {
  const words = '`scope` is no function, so that everybody would be one person. Ask in it who acts.';
  assertSetUp(typeof scope === 'function', words, { existing: typeof scope, expected: SCOPE });
  return scope;
}

const SCOPE = 'scope: async () => ({ principal: … }), or null where nobody is signed in';

function noScope(): never {
  throw new ConfigurationError('Nobody says who acts. Give createIdempotency a `scope`, or give one to `execute`.', {
    expected: SCOPE,
  });
}
