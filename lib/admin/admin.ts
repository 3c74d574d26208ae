import { assertSetUp } from '../core/errors.ts';
import { isSettled } from '../core/key-state.ts';
import { lengthPrefixed } from '../core/length-prefix.ts';
import { type Duration, toMs } from '../core/options.ts';
import { assertStorableName, type KeyId, principalOf } from '../core/scope.ts';
import { readSecrets, secretsIn } from '../core/secrets.ts';
import type {
  AnnouncedEvent,
  AuditFilter,
  AuditPage,
  KeyFilter,
  KeyPage,
  ListedKey,
  OutcomeBucket,
  Overview,
} from '../store/oversight.ts';
import type { PrismaClientLike, RawQueries, TransactionOf } from '../store/prisma/client.ts';
import { prismaStore } from '../store/prisma/store.ts';
import type { Tables } from '../store/prisma/tables.ts';
import type { KeyEvent, KeyRow } from '../store/store.ts';
import { linksTo } from '../telemetry/span.ts';
import { type OnErase, type OperationHooks, type Operations, operationsOn } from './operations.ts';
import { type DatabasePromise, promisesOf } from './promises.ts';
import { type PhaseView, phaseView, type RedactedAnswer, redactAnswer } from './redaction.ts';

export type { AnnouncedEvent, KeyEvent, KeyFilter, KeyPage, OutcomeBucket, Overview };

/** A key as the list shows it: nothing of what was sent or answered. */
export type KeySummary = ListedKey;

/** Everything about one key that an admin may see. */
export interface KeyDetail extends Omit<KeySummary, 'reference'> {
  /** The first bytes of the fingerprint in hex; logs show the first of them. Null on a tombstone. */
  fingerprintPrefix: string | null;
  /** The stored answer without its values; null while there is none. */
  answer: RedactedAnswer | null;
  /** Its answer was erased by a person, or with its principal. */
  isForgotten: boolean;
  /** False if `operations` lacks its operation: no worker goes on with it. True where that was not given. */
  isListed: boolean;
  /** The trace of its first run, where somebody was tracing. */
  traceId: string | null;
  /** Its steps, in their order; none where the operation runs in one transaction. */
  phases: PhaseView[];
  /** `resolve` compares it. It is not to be read, nor to be kept: another version may write it otherwise. */
  revision: string;
  /**
   * The name of what was heard, for a verdict that overrules it: the reference of a proof, or of the receipt of a late answer, or else
   * the words that were said last; `result` for a late answer that had no receipt. Null where nothing was heard.
   */
  heard: string | null;
  /** Of a `payload_mismatch`, the detail holds the first bytes of the other `fingerprint` in hex. */
  events: KeyEvent[];
  /** Events that it has announced. Those to which `enqueue` was given a step of their own cannot be told. */
  outboxEvents: AnnouncedEvent[];
}

/** An operation that `operations` lacks, with keys that nobody goes on with. */
export interface UnlistedOperation {
  operation: string;
  /** How many of its keys are stuck. */
  count: number;
}

/** The functions behind an admin view of key states. The caller has checked that an admin asks. */
export interface Admin extends Operations {
  /** Counts of all keys: for tiles, and for what the table takes. */
  overview(): Promise<Overview & { unlisted: UnlistedOperation[] }>;
  /** The promises of the database about an answer, kept or not: the worst first, in sentences. */
  promises(): Promise<{ engine: string; promises: DatabasePromise[] }>;
  /**
   * How calls ended since then, in buckets of ten minutes: none older than 30 days, and up to ten seconds late. None of one
   * tenant: they are counted of all together.
   */
  outcomes(since: Date): Promise<OutcomeBucket[]>;
  /** Keys, newest first where nothing else is said. */
  listKeys(filter: KeyFilter): Promise<KeyPage>;
  findKey(id: KeyId): Promise<KeyDetail | null>;
  /** Acts of people, newest first: to keys, also to those that are gone, and what else was recorded. */
  audit(filter: AuditFilter): Promise<AuditPage>;
}

/** The database, and what of the kit’s set-up the admin view must know. */
export interface AdminOptions<Client extends PrismaClientLike = PrismaClientLike> extends OperationHooks {
  prisma: Client;
  /**
   * Confines lists and acts to the keys of one tenant: what is another's is as if it were not there. Where it was left
   * out, or is null, an admin is one of all tenants.
   */
  tenant?: string | null;
  /** The same as for `createIdempotency`. */
  tables?: Tables | undefined;
  /**
   * The operations that workers know: the list in `lib/operations.ts`. With it keys of all others are named, which no worker goes
   * on with.
   */
  operations?: readonly { name: string }[] | undefined;
  /** When a key that is not settled counts as stuck, in milliseconds since its claim. Default 60,000. */
  stuckAfterMs?: number | undefined;
  /** The same as for `createIdempotency`: a key that was signed for somebody else is not fenced for the one who is named. */
  secret?: string | readonly (string | undefined)[] | undefined;
  /** The same as for `createIdempotency`. A window longer than its own would fence keys whose rows are gone. Default 24 h. */
  window?: Duration | undefined;
  /** The same as for `createIdempotency`. Default 25 h. */
  retention?: Duration | undefined;
  /**
   * Erases the app's own rows of a person, in the transaction of `erasePrincipal`, and says by name what stays. What it
   * writes by another client than its `tx` is refused. Without it `erasePrincipal` erases the kit's rows alone, and says so.
   */
  onErase?: OnErase<TransactionOf<Client>> | undefined;
  /** The same as for `createOutbox`. Default `oncekit`. */
  namespace?: string | undefined;
}

/**
 * The admin view's reads and operations. Arguments, payloads and results stay redacted; every operation is audited and
 * may be repeated.
 *
 * @throws ConfigurationError for a window or retention that is no duration, and for a tenant that is no name, such as one
 *   that was not found
 * @throws ConfigurationError from `erasePrincipal` and `record` for another tenant than the admin's
 * @throws StoreUnavailableError from each of them when the database cannot be asked
 */
export function createAdmin<Client extends PrismaClientLike>(options: AdminOptions<Client>): Admin {
  const { stuckAfterMs = 60_000, namespace = 'oncekit' } = options;
  const windowMs = toMs(options.window ?? '24h', 'window');
  const retentionMs = toMs(options.retention ?? windowMs + 3_600_000, 'retention');
  const store = prismaStore(options.prisma, { tables: options.tables });
  const tenant = tenantIn(options);
  const isListed = (operation: string) => options.operations?.some(({ name }) => name === operation) ?? true;
  const admin: Admin = {
    ...operationsOn(store, { ...options, windowMs, retentionMs, secrets: readSecrets(secretsIn(options.secret)) }),
    overview: async () => {
      const [overview, open] = await Promise.all([
        store.overview(stuckAfterMs, tenant),
        // Operations are listed by those who deploy, whose matter those are that were forgotten.
        tenant === undefined ? store.countOpen(stuckAfterMs) : [],
      ]);
      const unlisted = new Map<string, number>();
      for (const { operation, state, stuck } of open) {
        // What has settled needs no worker, only a person.
        if (stuck > 0 && !isSettled(state) && !isListed(operation))
          unlisted.set(operation, stuck + (unlisted.get(operation) ?? 0));
      }
      return { ...overview, unlisted: [...unlisted].map(([operation, count]) => ({ operation, count })) };
    },
    promises: async () => {
      const facts = await store.databaseFacts();
      return { engine: facts.engine, promises: promisesOf(facts) };
    },
    outcomes: (since) => store.tallies(since),
    audit: (filter) => store.audit(filter),
    listKeys: (filter) => store.list({ stuckAfterMs, ...filter }),
    findKey: async (id) => {
      // First: what is shown may be newer than what a verdict is compared with, never older.
      const seen = await store.asSeen(id);
      const row = await store.find(id);
      if (!row) return null;
      const intent = lengthPrefixed(namespace, row.tenant, row.principal, row.operation, row.key);
      const [thing, steps, events, outboxEvents] = await Promise.all([
        store.thingOf(id),
        store.steps(id),
        store.events(id),
        store.announced(row, Uint8Array.from(intent)),
      ]);
      const known = { ...seen, thing, phases: steps.map(phaseView), events, outboxEvents };
      return { ...shown(row), isListed: isListed(row.operation), ...known };
    },
  };
  return tenant === undefined ? admin : ofOneTenant(tenant, admin);
}

/** One that is there and undefined is a mistake, such as a session without it: it must not open all tenants. */
function tenantIn(options: Pick<AdminOptions, 'tenant'>): string | undefined {
  if (!('tenant' in options) || options.tenant === null) return undefined;
  const { tenant } = options;
  assertStorableName(tenant, 255, 'The tenant of createAdmin cannot be used. For all of them, leave it out.');
  return tenant;
}

/** The functions of an admin of one tenant. What is another's is as if it were not there. */
function ofOneTenant(tenant: string, all: Admin): Admin {
  const onOurs =
    <Id extends KeyId, Args extends unknown[], Done>(act: (id: Id, ...args: Args) => Promise<Done>, otherwise: Done) =>
    async (id: Id, ...args: Args) =>
      id.tenant === tenant ? await act(id, ...args) : otherwise;
  const pageOfOurs =
    <Filter extends { tenant?: string | undefined }, Page>(list: (filter: Filter) => Promise<Page>, none: Page) =>
    async (filter: Filter) => {
      const asked = filter.tenant ?? tenant;
      return asked === tenant ? await list({ ...filter, tenant }) : none;
    };
  const assertOurs = (given: string) =>
    assertSetUp(given === tenant, 'This admin is one of a single tenant: nothing was done.', {
      existing: given,
      expected: tenant,
    });
  return {
    // It was asked of the tenant's keys alone.
    overview: all.overview,
    promises: all.promises,
    outcomes: async () => [],
    listKeys: pageOfOurs(all.listKeys, { rows: [], hasMore: false }),
    findKey: onOurs(all.findKey, null),
    audit: pageOfOurs(all.audit, { rows: [], hasMore: false }),
    resolve: onOurs(all.resolve, 'changed'),
    retryNow: onOurs(all.retryNow, 'changed'),
    release: onOurs(all.release, 'changed'),
    fence: onOurs(all.fence, 'refused'),
    forget: onOurs(all.forget, 'changed'),
    acknowledge: onOurs(all.acknowledge, 'changed'),
    erasePrincipal: async (who, actor) => {
      assertOurs(principalOf(who).tenant);
      return await all.erasePrincipal(who, actor);
    },
    record: async (act) => {
      assertOurs(act.tenant ?? tenant);
      await all.record({ ...act, tenant });
    },
  };
}

/** Takes out of a key's row what was sent and answered. */
function shown({ result, fingerprint, ...row }: KeyRow) {
  const isAnswered = row.state === 'succeeded' || row.state === 'failed';
  const answer = isAnswered ? redactAnswer(result) : null;
  return {
    ...row,
    reason: answer?.kind === 'refusal' ? answer.reason : null,
    fingerprintPrefix: fingerprint ? Buffer.from(fingerprint.hash).toString('hex', 0, 6) : null,
    answer,
    isForgotten: isAnswered && result === null,
    traceId: linksTo(row.traceParent)[0]?.context.traceId ?? null,
  };
}

/**
 * A client whose statements and transactions are part of `tx`. With it, what `createAdmin` and a bare `createOutbox` do in
 * the handler of an operation is done together with the operation's key, or not at all: sent twice it is done once, and
 * both requests get the same answer.
 *
 * ```ts
 * createAdmin({ prisma: joinTransaction(tx), afterCommit });
 * ```
 */
export function joinTransaction(tx: RawQueries): PrismaClientLike {
  const joined: PrismaClientLike = {
    $queryRawUnsafe: (query, ...values) => tx.$queryRawUnsafe(query, ...values),
    $transaction: (run) => run(tx),
  };
  // By it the schema of its adapter is known.
  return Object.assign(joined, { _engineConfig: (tx as { _engineConfig?: unknown })._engineConfig });
}
