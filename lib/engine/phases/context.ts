import { assertSetUp } from '../../core/errors.ts';
import type { Indeterminate } from '../../core/foreign.ts';
import type { Upcasts } from '../../core/older-data.ts';
import { assertKnownOptions } from '../../core/options.ts';
import type { Defer, Fail, HandlerContext } from '../handler.ts';

/** The version of a result that a step stores. An unfinished key of an older deploy has older ones. */
export interface StepVersion {
  /** Raise it when the result changes its shape. Default 1. */
  version?: number | undefined;
  /**
   * Leads a stored result of version N to version N + 1. Where one is missing or throws, the run ends in `phase_mismatch`; a
   * result of a newer version is left to the instances that know it (`unavailable`).
   */
  upcasts?: Upcasts | undefined;
}

/**
 * The argument of a phases function. The function is run again from the top after a crash: finished steps return their stored
 * result, the first unfinished one runs. So it must do the same steps in the same order each time, and keep everything
 * that differs from run to run inside them.
 */
export interface PhasesContext<Input, Tx, Reason extends string = string>
  extends Pick<HandlerContext<Input, Tx>, 'key' | 'scope' | 'context'> {
  /** The payload as the schema has parsed it in the first run. Each try of a phase begins with it as it was. */
  input: Input;
  /**
   * One database transaction: its writes, its result and the recovery point are committed together, once. What it
   * throws rolls it back and leaves the key resumable; `fail` in it commits what it wrote so far.
   *
   * @param name unique in the function; part of what is stored, so never rename it while keys are unfinished
   * @param stored the version of the result
   */
  atomic<R>(name: string, run: (tx: Tx) => Promise<R>, stored?: StepVersion): Promise<R>;
  /** A change in a system that our transaction cannot roll back: sent, with a derived key, so that it happens once. */
  foreign<Arguments, R>(name: string, call: ForeignCall<Arguments, R, Reason>): Promise<R>;
  /** Gives a value that a later run must not invent again: an id, a time, a price. Not inside another step. */
  capture: <T>(name: string, make: () => T | Promise<T>, stored?: StepVersion) => Promise<T>;
  /** Ends in a stored refusal, which every retry replays. `onRefused` undoes, in the transaction that stores it. */
  fail: Fail<Reason>;
  /** Puts it off, where no foreign call may have been done yet: a later run goes on. */
  defer: Defer<Reason>;
  /** Aborted when the lease is lost or the caller's time is up: nothing that is done after that counts. */
  signal: AbortSignal;
  /** How many milliseconds are left for this run. */
  readonly deadlineMs: number;
}

/** The argument of a call to a foreign system. */
export interface ForeignRequest {
  /** The derived key: the same for every send of this step, by whatever process. Hand it to the provider. */
  idempotencyKey: string;
  /** Aborted when there is no more time, or the lease is lost. Hand it to the HTTP client. */
  signal: AbortSignal;
  /** How many milliseconds this call may take: less than the caller has left. */
  deadlineMs: number;
  /**
   * The same as headers, for systems that understand them: `Idempotency-Key`, `X-Request-Timeout` in milliseconds,
   * and `X-Retry-Layer: none`, because this call is sent again from here.
   */
  headers: Readonly<Record<string, string>>;
}

/**
 * A provider's answer to a look-up: the call's result, that it knows nothing of it, or "ask later". `'done'`: it was done, of a
 * call that has no result. Anything else, `found` without a value too, counts as "ask later", and is reported.
 */
export type LookedUp<R> = { found: NonNullable<R> } | 'absent' | 'pending' | ([undefined] extends [R] ? 'done' : never);

/**
 * The proof that an error of a send is. Anything that is not certain is `indeterminate`: a lost connection, a time-out, a 5xx,
 * a key in use or with other parameters.
 */
export type ForeignVerdict<Reason extends string = string> =
  | 'indeterminate'
  /** Nothing was done, for certain: the provider said so (429), or the connection was refused. Sent again. */
  | 'not_executed'
  /** A send cannot tell: "already done", or a stored error that is replayed. The provider is asked. */
  | 'look_up'
  /** Declared by you as final: the key ends in this stored refusal. A declined card. */
  | { refuse: Reason; data?: unknown; status?: number; message?: string };

/** A call that changes something in a foreign system. */
export interface ForeignCall<Arguments, R, Reason extends string = string> {
  /**
   * Plain data, stored before the first send. A later run sends the stored ones, whatever values are given then. Where those
   * have a field more, or one of another type, the stored ones are neither sent nor asked with: the run ends in `phase_mismatch`.
   */
  arguments: Arguments;
  /** Does it. Returns plain data, which is stored. */
  send(stored: Arguments, request: ForeignRequest): Promise<R>;
  /** Asks whether it was done. */
  lookup?(stored: Arguments, request: ForeignRequest): Promise<LookedUp<R>>;
  /**
   * Makes the result of what a person has found: an id that the provider shows. Default: `lookup` must find it. With
   * neither, nobody can say of an unknown call that it went through.
   */
  fromReference?(reference: string, request: ForeignRequest): Promise<R>;
  /**
   * Says what is kept of its result once the key has settled, and the result is erased: what the provider knows the call as, and how
   * much it was, as a person reads it, such as `$9.00`. Of 255 and 100 characters at most. `reference` is what a proof names: another
   * one is another payment. Undefined where nothing came of the call, such as of a decline that a look-up has found. One that throws,
   * or cannot be kept, is reported and left out: the call is done all the same.
   */
  receipt?(result: R): { reference: string; amount?: string | undefined } | undefined;
  /** The move when the outcome of a send is not known. */
  indeterminate: Indeterminate;
  /** Judges an error of `send`. Default: it proves nothing, `indeterminate`. */
  judge?(error: unknown): ForeignVerdict<Reason>;
  /**
   * For how long the provider remembers the derived key, in milliseconds; no longer than `phasesRetention`. Default 0: it
   * honours no keys. Each send relies on what was said here when it was sent.
   */
  providerKeyTtlMs?: number;
  /** How long after a send "absent" may still mean "not yet", in milliseconds. Default 60,000. */
  settleMs?: number;
  /** How long one send or look-up may take, in milliseconds. Default 10,000; never more than is left. */
  timeoutMs?: number;
  /** How often it is sent or asked within one run. Default 4. */
  maxTries?: number;
  /** The foreign call that this one takes back, by its name: a refund says so of its charge. */
  compensates?: string;
  /**
   * Whether a refusal of the key behind it asks for a compensation, always or by its result. Where no other call `compensates`
   * it, the key is then flagged for a person, and keeps its result. Default true. False: a check, a mail, or what `onRefused` sees
   * to. A function says by the result whether anything came of the call: not of a decline that a look-up has found. Where nothing
   * did, it has compensated nothing either, and the refusal behind it says that nothing was executed.
   */
  needsCompensation?: boolean | ((result: R) => boolean);
  /** The system it depends on. Calls that share the name share a circuit breaker. Default: none. */
  dependency?: string;
  /** The version of arguments and result as they are stored; raise it when either changes its shape. Default 1. */
  version?: number;
  /**
   * Leads stored arguments, and a stored result, of version N to version N + 1, so that unfinished keys of an older deploy
   * go on. The one that is left out has not changed. Where a version is missing, or one throws, nothing is sent, and the run ends
   * in `phase_mismatch`.
   */
  upcasts?: Readonly<Record<number, { arguments?: (older: never) => unknown; result?: (older: never) => unknown }>>;
}

/** What an option must be, and in which words that is expected. */
type Check = readonly [isGood: (value: never) => boolean, expected: string];

const isFunctionOrNone = (it: unknown) => it === undefined || typeof it === 'function';
const ANYTHING: Check = [() => true, 'anything'];
const FUNCTION_OR_NONE: Check = [isFunctionOrNone, 'a function'];
const NAME_OR_NONE: Check = [(it: unknown) => it === undefined || (typeof it === 'string' && it !== ''), 'a name'];
const COUNT: Check = [(it = 1) => Number.isInteger(it) && it >= 1, 'a whole number, 1 or more'];

/** All options of a foreign call. `arguments`, `upcasts` and `providerKeyTtlMs` are judged by more than their value. */
const OPTIONS: Readonly<Record<keyof ForeignCall<never, never>, Check>> = {
  arguments: ANYTHING,
  send: [(it: unknown) => typeof it === 'function', 'a function'],
  lookup: FUNCTION_OR_NONE,
  fromReference: FUNCTION_OR_NONE,
  receipt: FUNCTION_OR_NONE,
  indeterminate: [(it) => ['retry', 'lookup', 'unknown'].includes(it), "'retry', 'lookup' or 'unknown'"],
  judge: FUNCTION_OR_NONE,
  providerKeyTtlMs: ANYTHING,
  settleMs: [(it = 0) => it >= 0, 'milliseconds, 0 or more'],
  timeoutMs: [(it = 1) => it > 0, 'milliseconds, more than 0'],
  maxTries: COUNT,
  compensates: NAME_OR_NONE,
  needsCompensation: [(it) => ['undefined', 'boolean', 'function'].includes(typeof it), 'true, false or a function'],
  dependency: NAME_OR_NONE,
  version: COUNT,
  upcasts: ANYTHING,
};

/** The version of a call's stored arguments, or of its stored result. */
export function versionOfPart<A, R>(
  { version, upcasts }: ForeignCall<A, R>,
  part: 'arguments' | 'result',
): { version: number | undefined; upcasts: Upcasts } {
  const ofPart = Object.entries(upcasts ?? {}).map(([from, lead]) => [from, lead?.[part] ?? ((same: unknown) => same)]);
  return { version, upcasts: Object.fromEntries(ofPart) };
}

/**
 * @param retentionMs how long the row of its key is kept: behind that the key's next use is a new intent, under the same
 *   derived key
 * @throws ConfigurationError for an option that is none, or that has no meaning
 */
export function assertForeignCall<A, R>(name: string, call: ForeignCall<A, R>, retentionMs: number): void {
  assertKnownOptions(`The foreign call ${name}`, call, OPTIONS);
  const { providerKeyTtlMs = 0, upcasts } = call;
  const assert = (option: keyof ForeignCall<A, R>, isGood: boolean, expected: string) => {
    const existing = typeof call[option] === 'function' ? 'a function' : call[option];
    assertSetUp(isGood, `\`${option}\` of the foreign call ${name} cannot be used.`, { existing, expected });
  };
  for (const option of Object.keys(OPTIONS) as (keyof typeof OPTIONS)[]) {
    const [isGood, expected] = OPTIONS[option];
    assert(option, isGood(call[option] as never), expected);
  }
  for (const [from, lead] of Object.entries(upcasts ?? {})) {
    const isGood = typeof lead === 'object' && lead !== null && [lead.arguments, lead.result].every(isFunctionOrNone);
    assert('upcasts', isGood, 'by version: { arguments, result }, functions or left out');
    assertKnownOptions(`\`upcasts[${from}]\` of the foreign call ${name}`, lead, { arguments: true, result: true });
  }
  const isRetained = providerKeyTtlMs >= 0 && providerKeyTtlMs <= retentionMs;
  assert('providerKeyTtlMs', isRetained, `milliseconds, 0 to ${retentionMs} (phasesRetention)`);
}
