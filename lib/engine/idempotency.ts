import { everyOne, untilNoneIsLeft } from '../core/batches.ts';
import { assertSetUp } from '../core/errors.ts';
import type { KeyState } from '../core/key-state.ts';
import { assertKnownOptions, optionNames } from '../core/options.ts';
import type { KeyId } from '../core/scope.ts';
import type { StandardSchema } from '../core/standard-schema.ts';
import type { Evidence, Heard } from '../store/evidence.ts';
import type { LostKeys } from '../store/lost-keys.ts';
import type { SchemaState, Store, TriedClaim } from '../store/store.ts';
import { gaugeKeys } from '../telemetry/metrics.ts';
import type { AnswerOptions } from './answer.ts';
import { type Options, readConfig, type SetUp, setUpOf } from './config.ts';
import { assertOperation, type OperationOptions } from './definition.ts';
import { Engine } from './engine.ts';
import { defineOperation, explainMissing, type Operation, type OperationBuilder } from './operation.ts';
import { type Completed, completeDue, completeKey } from './phases/completer.ts';
import { lookUpLost, type NamedKey, type NamedKeyState } from './phases/lost-key.ts';
import type { Remembered } from './recent-rows.ts';

/** The kit, set up for one app and one database. */
export interface Idempotency<Tx> {
  /** Begins an operation; `.handler(…)` completes it. Define each once, in a plain module. */
  operation<S extends StandardSchema, const Reason extends string = string>(
    options: OperationOptions<S, Tx, Reason>,
  ): OperationBuilder<S, Tx, Reason>;
  /**
   * The completer, once: takes up keys of this app's operations in phases whose executor died, or whose outcome is
   * unknown and due to be asked about, and drives them on. In any number of processes at once. An operation is known
   * once its module was imported. Keys of others are left alone; where nobody has driven those of an operation for an hour, it
   * is reported, once, and those whose foreign call may have been done are flagged for a person. At most `limit` of each operation (default 10), between
   * all calls of this process.
   *
   * @throws ConfigurationError in production without a secret; nothing is taken
   */
  completeDue(options?: { limit?: number; signal?: AbortSignal }): Promise<Completed>;
  /** Drives one key on, if it is to be had now; what a person's "retry now" calls. Throws as `completeDue` does. */
  completeKey(id: KeyId): Promise<KeyState | undefined>;
  /**
   * Records, in your transaction, what was heard from elsewhere about a key: a webhook of the provider, an answer that came
   * late. It settles nothing. It makes a key that is not settled due, so that the completer looks at once, also where it had
   * given up. A person's "it failed" or "send it again" that was said before is void. An executor at work is not disturbed, unless
   * it acts upon such a word. Said twice, it is recorded once.
   *
   * Words are looked into, by asking the provider or the person once more, for they may be old. A proof is that the call of a
   * step has succeeded, said by the provider, which you have held against what the call was sent with: its derived key or an id
   * that it alone has, amount and currency. The next run makes the step's result of its reference, by `fromReference` or `lookup`,
   * and nothing is sent while it stands. Where neither makes one it is set aside: the key stays `unknown` and is a person's.
   *
   * Call it before you lock anything that the operation's phases lock: they hold their key's row first.
   *
   * @param actor who was heard, such as `stripe`
   * @throws ConfigurationError for what cannot be recorded (empty, too long, with a NUL); your transaction can go on
   */
  recordEvidence(tx: Tx, id: KeyId, said: Evidence, actor: string): Promise<Heard>;
  /**
   * The reaper, once: deletes settled rows past their retention, in batches of `batch` (default 1000), until none is
   * left or `signal` says to stop. Never a row in progress or unknown. Returns how many. Records of what people did go
   * past a retention of their own, `auditRetention`.
   */
  reap(options?: { batch?: number; signal?: AbortSignal }): Promise<number>;
  /**
   * Unfinished keys as OpenTelemetry gauges: `idempotent.keys` by operation and state, `idempotent.stuck`,
   * `idempotent.unlisted` and `idempotent.oldest_in_progress_seconds` by operation. In one process of many, behind the SDK's
   * set-up: each asks the database whenever metrics are collected. Returns what ends it.
   *
   * @param operations those whose gauges and counters are 0 from the first, so that an alarm can tell "none" from "nobody
   *   looks", and sees the first event as growth: the list in `lib/operations.ts`. Stuck keys of all others are unlisted
   */
  gauge(operations?: readonly { name: string }[]): () => void;
  /** Where the pages of the errors are, as configured: for `problemResponse` in routes of your own. */
  readonly errorPages: string | undefined;
  /** The header that has a caller's address, as it was configured. */
  readonly addressHeader: string | undefined;
  /**
   * The operations that were defined so far in this process: those whose modules were imported. A route or a worker imports them
   * all, for another bundle's are not here.
   */
  operations(): readonly Operation<never, unknown>[];
  /**
   * Says what to do about a key whose operation is not known here, where this app has signed it for whoever asks; once on the
   * console and to the log. Undefined for all other keys. For adapters.
   */
  explainMissing(asked: Pick<KeyId, 'operation' | 'key'>): Promise<string | undefined>;
  /** Which version of the kit's tables the database has, what this kit needs, and what to run where they differ. */
  readSchema(): Promise<SchemaState[]>;
  /**
   * The schema in which the kit's tables are looked for: that of `tables`, else that of the client's adapter. None: the
   * `search_path` says. For `npx oncekit doctor`.
   */
  schemaName?(): string | undefined;
  /**
   * Claims a made-up key through the app's client, completes and replays it, and rolls it back: whether its role, its
   * extensions, its tables and its database let an execution do its part. For `npx oncekit doctor`. Leaves nothing.
   */
  tryClaim(): Promise<TriedClaim>;
  /** The options that this kit was given, checked and filled in, without a secret. For `npx oncekit doctor`. */
  readonly setUp: SetUp;
  /**
   * Says what there is of a key that the database may have lost: of one without a row, what providers and consumers know of
   * it, and a function that enters that. For `npx oncekit reconcile`. Runs the operation in a transaction of at most 30 s that is rolled
   * back, in which foreign calls are looked up and never sent. Throws where the database cannot be asked.
   *
   * @param isReceived whether a consumer has received an event before, by its id
   */
  lookUpLost(named: NamedKey, isReceived: (eventId: string) => boolean): Promise<NamedKeyState>;
  /** Which of these events the outbox has, by their ids. For `npx oncekit reconcile`. */
  knownEvents(ids: readonly string[]): Promise<string[]>;
  /**
   * Drops what this process remembers of one key, or of all keys of a principal, for the few seconds that it does: what a
   * person has erased is then told by nobody here. For `createAdmin`.
   */
  dropRecent(of: Remembered): void;
}

const CONTRADICTED =
  'the provider says that a call was done, and its key has ended otherwise or under another reference';

const ANSWER_OPTIONS = optionNames<AnswerOptions<never>>()('redirectTo');

/** When an unfinished key counts as stuck that no lease speaks for, in milliseconds. As in the admin view. */
const STUCK_AFTER_MS = 60_000;

/**
 * Sets the kit up on any store. `createIdempotency` is this on a Prisma client.
 *
 * @param lostKeys what enters lost keys beside that store; none: they cannot be looked up
 */
export function idempotencyOn<Tx>(store: Store<Tx>, options: Options, lostKeys?: LostKeys<Tx>): Idempotency<Tx> {
  const config = readConfig(options);
  const engine = new Engine(store, config);
  return {
    completeDue: (how) => completeDue(engine, how),
    completeKey: (id) => completeKey(engine, id),
    recordEvidence: async (tx, id, said, actor) => {
      const heard = await store.recordEvidence(tx, id, said, actor);
      const { operation, key } = id;
      if (heard === 'contradicts') config.log?.({ level: 'error', msg: CONTRADICTED, operation, key });
      return heard;
    },
    gauge: (operations = []) => {
      const names = operations.map(({ name }) => name);
      return gaugeKeys(() => store.countOpen(STUCK_AFTER_MS), names);
    },
    reap: (how = {}) =>
      everyOne(
        () => untilNoneIsLeft((limit) => store.reapKeys(limit), how),
        () => untilNoneIsLeft((limit) => store.reapAudit(config.auditRetentionMs, limit), how),
        async () => how.signal?.aborted || (await store.reapTallies()),
      ),
    errorPages: config.errorPages,
    addressHeader: config.addressHeader,
    operations: () => [...engine.operations.values()] as Operation<never, unknown>[],
    explainMissing: (asked) => explainMissing(engine, asked),
    readSchema: () => store.readSchema(),
    tryClaim: () => store.tryClaim(),
    setUp: setUpOf(config),
    lookUpLost: async (named, isReceived) => await lookUpLost(engine, given(lostKeys), named, isReceived),
    knownEvents: async (ids) => await given(lostKeys).knownEvents(ids),
    dropRecent: (of) => engine.recentRows.drop(of),
    operation: (operation) => {
      assertOperation(operation);
      const define =
        (work: 'handler' | 'phases') =>
        (run: unknown, options: AnswerOptions<never> = {}) => {
          assertKnownOptions(`${work} of ${operation.name}`, options, ANSWER_OPTIONS);
          const definition = { options: operation, ...options, [work]: run };
          return defineOperation<Tx, never, never>(engine, definition as never) as never;
        };
      return { handler: define('handler'), phases: define('phases') };
    },
  };
}

function given<Tx>(lostKeys: LostKeys<Tx> | undefined): LostKeys<Tx> {
  assertSetUp(lostKeys, 'Nothing enters lost keys beside this store.', { existing: 'none', expected: '`lostKeys`' });
  return lostKeys;
}
