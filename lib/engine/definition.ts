import { assertSetUp } from '../core/errors.ts';
import { assertKnownOptions, listOf, optionNames } from '../core/options.ts';
import { MAX_ITEMS } from '../core/payload-limits.ts';
import type { PrincipalInput, Scope } from '../core/scope.ts';
import type { OutputOf, StandardSchema } from '../core/standard-schema.ts';
import type { Awaitable } from '../core/wait.ts';
import type { Durability, IsolationLevel } from '../store/store.ts';
import type { AnswerOptions } from './answer.ts';
import type { HandlerContext } from './handler.ts';
import type { AnswerToKeep } from './kept.ts';
import type { PhasesContext } from './phases/context.ts';
import type { ResponseOptions } from './response.ts';

/** An operation with its function: in one transaction, or in phases. */
export type Definition<Tx> = {
  readonly options: OperationOptions<StandardSchema, Tx>;
  readonly redirectTo?: AnswerOptions<never>['redirectTo'] | undefined;
} & (
  | { readonly handler: (context: HandlerContext<never, Tx>) => Promise<unknown>; readonly phases?: undefined }
  | { readonly phases: PhasesFunction<Tx>; readonly handler?: undefined }
);

type PhasesFunction<Tx> = (context: PhasesContext<never, Tx>) => Promise<unknown>;

/** An operation in one transaction. */
export type AtomicDefinition<Tx> = Extract<Definition<Tx>, { phases?: undefined }>;

/** An operation in phases. */
export type PhasedDefinition<Tx> = Extract<Definition<Tx>, { phases: PhasesFunction<Tx> }>;

/** The options of an operation. */
export interface OperationOptions<S extends StandardSchema, Tx, Reason extends string = string> {
  /** One word for logs, columns and URLs: `checkout`. A key is unique within it. */
  name: string;
  /** zod or any Standard Schema. A payload that it refuses consumes no key. */
  schema: S;
  /**
   * The codes that `fail` may be given. `reason` of an outcome is then one of them, and another one does not compile. Left out:
   * any text. Types alone: nothing is asked of it at run time.
   */
  reasons?: readonly Reason[];
  /** How long the transaction may take, in milliseconds. Default 5000. */
  timeoutMs?: number;
  /** How long to wait for a connection, in milliseconds. Default 2000. */
  maxWaitMs?: number;
  /** Default `ReadCommitted`. Serialization failures are tried again. */
  isolationLevel?: IsolationLevel;
  /**
   * How safe an answer is. `'local'`: as safe as the database makes each COMMIT. `'replicated'`: nothing is answered before
   * the synchronous standbys have it, replays and the status of a key included; where their answer does not come, the
   * outcome is `unavailable` with `executed: 'unknown'`, and so is each retry until it has come. Needs
   * `synchronous_standby_names`, and is `unavailable` with nothing executed where that is empty; needs transactions of the
   * kit's own (`oncekit/adapter-pg`), and is a ConfigurationError without. A replay costs a transaction. Default `'local'`.
   */
  durability?: Durability;
  /** In place of the kit's own: see `Options.begin`. */
  begin?: Begin;
  /** Narrows what counts as the same payload. */
  fingerprint?: (payload: unknown) => unknown;
  /**
   * Which keys are its own, once a secret is set: those that this app signed, or any. Server actions take no others, and the
   * status route gives up no others: for each key that strangers make up it would keep a row. Default `minted`; routes take
   * any key, unless it is said here. Say `any` for an API whose clients make their keys and may give them up.
   */
  acceptKeys?: 'minted' | 'any';
  /**
   * How many items a list of the payload or of the schema's input may have; ten times as many values may be in all. More is
   * `malformed_body`, before the schema is asked: of 100,000 rows it makes a million errors. Default 1000. Raise it for an import.
   */
  maxItems?: number;
  /**
   * Names of top-level fields that change by themselves, and tell no intent from another: a time stamp, a captcha of your own. Two
   * sends that differ in them alone are one intent. The handler gets them. The usual captcha and CSRF fields need not be named.
   */
  volatile?: string | readonly string[];
  /** Names of fields whose values are never sent back; added to those whose name looks secret. */
  sensitive?: string | readonly string[];
  /**
   * Asked for a new key only, before a transaction begins, and before anything is told of its thing (`oncePer`): a rate limit, a
   * quota, a right. Replays of the key are free. `true` admits; a number refuses with `rate_limited` and says how many
   * milliseconds to wait; `'unauthorized'` refuses with that. Nothing is stored.
   */
  admit?: (request: Admission<OutputOf<S>>) => Awaitable<true | number | 'unauthorized'>;
  /**
   * Asked before a stored answer is given to whoever asks for it: by a retry, on the status route, where a fence comes too late. False:
   * `unauthorized`, and nothing of the answer. For what a principal may see today and not tomorrow, such as a company that they have
   * left. `admit` is asked for new keys, and this for all others. Default: whoever acted may see what came of it.
   */
  mayReplay?: (asked: { scope: Scope; key: string }) => Promise<boolean> | boolean;
  /**
   * Names the thing that it does once for: this cart, this invoice; undefined: none. A second key for the same thing executes
   * nothing. With the same values it gets the first one's answer (`replayed: true`, with the `key` of the first), with others
   * `payload_mismatch` with that key, and `in_flight` while the first runs. Where that was somebody else's: `already_done`,
   * without its answer. A refusal and a rollback free the thing.
   *
   * Once per tenant and operation, whoever asks: for what each person does once, put the principal into the name
   * (`` `${scope.principal} ${input.poll}` ``). Whoever may name a thing learns that it is done: see to it by `admit`. 1 to 255
   * characters, else a ConfigurationError; the same for the same input, always. Needs version 6 of the kit's tables.
   */
  oncePer?: (request: { input: OutputOf<S>; scope: Scope }) => string | undefined;
  /** The answer about a thing is for everybody who sends the same values, and not for its own person alone. Default false. */
  shareAnswer?: boolean;
  /**
   * How long a thing is held at least, in milliseconds: the row of its key is kept for so long, and with it the answer.
   * `'forever'`: for ever, also when that row is gone; who comes then gets `already_done`. Default: the retention.
   */
  holdFor?: number | 'forever';
  /**
   * Says whether an answer is kept, and given to every retry. It is asked before COMMIT, in each try, of all answers but a redirect
   * and a decline of a foreign call, and of none behind a call that may have been done. False: everything rolls back, the answer is
   * passed on (`not_kept`), and the same key may be used again. Default: all is kept but a Response of 408, 423, 425 or 429, which
   * `true` keeps, too. A Response of 500 or above, one that is thrown, and what `defer` puts off are never kept.
   */
  keep?: (answer: AnswerToKeep) => boolean;
  /** The version of the handler's result; raise it when its shape changes. Default 1. */
  schemaVersion?: number;
  /** Leads a stored result of version N to version N + 1, so that replays of old rows stay readable. */
  upcasts?: Readonly<Record<number, (data: never) => unknown>>;
  /**
   * Running it twice does no harm: it sets absolute state. Where a stored result of an older version cannot be led
   * here by `upcasts`, it then runs again instead of ending in `result_unreadable`. Default false.
   */
  naturallyIdempotent?: boolean;
  /** Runs in the transaction that stores a refusal: undo there what a refusal must not keep. */
  onRefused?: (tx: Tx, refused: Refused<OutputOf<S>, Reason>) => Promise<void>;
  /** The version of the schema's output; raise it when its shape changes. For phases, which store it. Default 1. */
  inputVersion?: number;
  /** Leads a stored input of version N to version N + 1, so that unfinished keys of an older deploy can go on. */
  inputUpcasts?: Readonly<Record<number, (input: never) => unknown>>;
  /** How long one run of phases may hold its lease, in milliseconds. Default 5 min. */
  maxRunMs?: number;
  /**
   * How old an unfinished key of phases may be, in milliseconds, before it is flagged for a person (`needs_attention`).
   * The completer goes on with it all the same. Default 15 min.
   */
  attentionAfterMs?: number;
}

/** All of them, by name. */
const OPTIONS = optionNames<OperationOptions<StandardSchema, never>>()(
  'name schema reasons timeoutMs maxWaitMs isolationLevel durability begin fingerprint acceptKeys',
  'maxItems volatile sensitive admit mayReplay oncePer shareAnswer holdFor schemaVersion keep upcasts',
  'naturallyIdempotent onRefused inputVersion inputUpcasts maxRunMs attentionAfterMs',
);

/** @throws ConfigurationError for a name that fits no URL, an option that is none, a limit that is none, names that are none, and a schema that is none */
export function assertOperation<Tx>(
  options: Pick<OperationOptions<StandardSchema, Tx>, 'name' | 'schema' | 'maxItems' | 'volatile' | OncePer>,
): void {
  const { name, schema, maxItems = MAX_ITEMS, volatile = [] } = options;
  const names: unknown = listOf(volatile);
  assertSetUp(
    /^[a-z][a-z0-9_.-]{0,99}$/.test(name),
    'An operation needs a short name that fits a URL and a log line.',
    { existing: name, expected: 'a lower case letter, then up to 99 of a-z 0-9 . _ -' },
  );
  assertKnownOptions(`The operation ${name}`, options, OPTIONS);
  assertSetUp(
    Number.isSafeInteger(maxItems) && maxItems >= 1,
    `The operation ${name} has a maxItems that is no limit.`,
    { existing: maxItems, expected: 'a whole number of at least 1' },
  );
  assertSetUp(
    typeof schema?.['~standard']?.validate === 'function',
    `The operation ${name} has no schema that could be asked.`,
    { existing: typeof schema, expected: 'schema: z.object({ … }) of zod, or any other Standard Schema' },
  );
  assertSetUp(
    Array.isArray(names) && names.every((each) => typeof each === 'string' && each !== ''),
    `The operation ${name} has a volatile that is no list of names.`,
    { existing: names, expected: "names of fields: ['stamp']" },
  );
  assertOncePer(options);
}

const MAX_YEARS = 100;
/** An end that the database and JavaScript can both write as a date. */
const MAX_HOLD_MS = MAX_YEARS * 365 * 86_400_000;

type OncePer = 'oncePer' | 'shareAnswer' | 'holdFor';

/** @throws ConfigurationError for a time that is none, and for what is about no thing */
function assertOncePer<Tx>(options: Pick<OperationOptions<StandardSchema, Tx>, 'name' | OncePer>): void {
  const { name, oncePer, shareAnswer, holdFor } = options;
  assertSetUp(shareAnswer === undefined || oncePer, `shareAnswer of ${name} is about no thing.`, {
    existing: 'shareAnswer without oncePer',
    expected: 'an oncePer that says for what',
  });
  if (holdFor === undefined) return;
  const isTime = typeof holdFor === 'number' && holdFor > 0 && holdFor <= MAX_HOLD_MS;
  assertSetUp(oncePer && (isTime || holdFor === 'forever'), `holdFor of ${name} cannot be used.`, {
    existing: oncePer ? holdFor : 'holdFor without oncePer',
    expected: `a number of milliseconds, at most ${MAX_HOLD_MS} (${MAX_YEARS} years), or 'forever', and an oncePer that says for what`,
  });
}

/** What is set for the transactions of an execution. It ends with each of them. */
export interface TransactionSettings {
  /** The role that they run as, of which the client's own user is a member. Default: that user. */
  role?: string;
  /** Settings of your own, such as `'app.tenant'`, for policies that ask `current_setting`. */
  settings?: Readonly<Record<string, string>>;
}

export type Begin = (asked: { scope: Scope }) => TransactionSettings;

/** A new key, as `admit` is given it. */
export interface Admission<Input> {
  scope: Scope;
  key: string;
  input: Input;
  /** Anybody is given such a name for the asking (`scope` says so): a limit counts them by `address`. */
  isAnonymous: boolean;
  /** Of the caller: an IPv4 address, or the /64 of one of IPv6. Undefined without the kit's `addressHeader`, and for a call from code. */
  address: string | undefined;
}

/** A refusal, as `onRefused` is given it. */
export interface Refused<Input, Reason extends string = string> {
  /** The code that was given to `fail`, or by the judge of a foreign call. */
  reason: Reason;
  data: unknown;
  input: Input;
  key: string;
  scope: Scope;
  /** The results of the steps that are done, by their names: what a charge has given, say. Empty without phases. */
  steps: Readonly<Record<string, unknown>>;
}

/** One call of an operation. */
export interface ExecuteRequest {
  /** The idempotency key. */
  key: string | null | undefined;
  /** There is no key: this call is an intent of its own, under a new one. */
  keyless?: boolean | undefined;
  /** The principal. Default: what the configured `scope` returns. */
  scope?: PrincipalInput | undefined;
  /** The client's data: a `FormData` or plain data. The fingerprint is taken from it. */
  payload: unknown;
  /** The schema's input. Default: the payload; of a form, its fields as an object. */
  input?: unknown;
  /** The rest of the intent: bound arguments, a path. Counts in the fingerprint. */
  context?: readonly unknown[] | undefined;
  /** The method of a route's request. It is part of the intent; of what is no request there is none. */
  method?: string | undefined;
  /**
   * How often the client says that it has sent this key, with this send. 1: for the first time, so that a refusal may say
   * that nothing was executed. More: a stored answer is looked for first. Leave it out where you do not know.
   */
  attempt?: number | undefined;
  /** How long to wait for another's execution of the same key, in milliseconds. Default: as configured. */
  waitMs?: number | undefined;
  /** How long the caller will wait in all, in milliseconds. Bounds `scope`, the schema, `admit`, the waits and the transaction. */
  deadlineMs?: number | undefined;
  /** The headers of the caller's request, which have their address. */
  headers?: (() => Awaitable<Headers | undefined>) | undefined;
  /** Ends phases before their next step when the caller has given up; a worker goes on with them. */
  signal?: AbortSignal | undefined;
  /** False: conflicts and foreign calls are not tried again here, because the caller does that. Default true. */
  innerRetries?: boolean | undefined;
  /** For routes: makes the HTTP answer that is stored with the result. */
  response?: ResponseOptions | undefined;
  /**
   * Reads the payload once the key and whose it is are known to be good; instead of `payload`. A BadPayloadError that
   * it throws becomes its refusal.
   */
  read?: (() => Promise<Pick<ExecuteRequest, 'payload' | 'input'>>) | undefined;
  /** `minted` refuses keys that this app did not sign, once a secret is set. Default `any`. */
  acceptKeys?: 'minted' | 'any' | undefined;
}
