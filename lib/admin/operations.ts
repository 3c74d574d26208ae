import { parseKey } from '../core/key.ts';
import { type KeyId, type PrincipalInput, principalOf } from '../core/scope.ts';
import type { Secrets } from '../core/secrets.ts';
import { settleWithin } from '../core/wait.ts';
import { identify } from '../engine/identity.ts';
import { tracedLog } from '../engine/log.ts';
import type { Remembered } from '../engine/recent-rows.ts';
import type { SeenCall, Verdict } from '../store/evidence.ts';
import type { ActResult, Erased, ErasedKeys, NewAuditRecord, Person, SeenRow } from '../store/oversight.ts';
import type { Fence, Fenced, Store } from '../store/store.ts';

/** A key as the admin saw it: the token tells whether anybody has gone on with it since. */
export type SeenKey = SeenRow;

/** `changed`: the key is no longer as the admin saw it, and nothing was done. */
export type Operated = Exclude<ActResult, 'refused'>;

type Complete = (id: KeyId) => Promise<unknown>;

/**
 * The writes behind an admin view. Each is recorded with its actor in the transaction that does it, apart from the key: the
 * record is append-only and outlives it. Each leaves a line in the log.
 */
export interface Operations {
  /**
   * Records what a person has found out about the foreign call of an `unknown` key: a compare-and-set on what they saw of
   * it. A call that was only asked about since is as they saw it; one that was sent again, judged, or heard of by a webhook
   * has `changed`. The same said twice is `recorded` once; a second click has `changed` nothing. Another verdict takes
   * the place of one that no run could act upon, such as a mistyped reference. The next run acts upon it, or this call
   * does where there is a `complete`. If the call's answer or a webhook comes before that, `failed` and `retry` are void, and
   * a person is asked again where the provider cannot be. If its result comes behind the refusal, the key stays as it is and
   * is flagged: see `acknowledge`.
   *
   * `succeeded`: with the provider's reference; the remaining steps run. `failed`: it did not happen and shall not; the
   * key ends in a refusal, through `onRefused`. `retry`: it is asked about or, where nobody can be asked, sent again.
   * `refused`: something was heard of the key that the verdict overrules and does not name (`overrules`: `heard` of what was
   * shown). Nothing is written.
   */
  resolve(id: SeenCall, verdict: Verdict, actor: string): Promise<Operated | 'refused'>;
  /**
   * Makes an unfinished key due at once, with its attempts counted anew, also one that was given up on. Never takes a
   * key from its executor: while a lease is live it has `changed`. Decides nothing, so a second click at most has it
   * looked at, and recorded, once more.
   */
  retryNow(id: SeenKey, actor: string): Promise<Operated>;
  /**
   * Takes a key in progress from an executor that no longer shows itself: whatever that one still writes changes nothing,
   * and the key is due, so that a worker or the client's retry goes on. `refused` while its lease is live, while a
   * transaction of it is open, and where a foreign call has begun that its provider may not know again by its key.
   */
  release(id: SeenKey, actor: string): Promise<Operated | 'refused'>;
  /**
   * Gives a key up for good that has no row: the tombstone, from which on it never executes. For a person who holds
   * a form whose fate nobody knows. `refused`: there is a row, so it runs or has run; or it runs uncommitted; or the key
   * is no key, or older than its window, so that its row may be gone. `changed`: it was given up before.
   */
  fence(id: KeyId, actor: string): Promise<Operated | 'refused'>;
  /**
   * Erases what is stored of a settled key's input and answer. Its row stays until it expires, and proves that the intent
   * was executed: a retry is told so, and nothing runs. Events that it has announced keep what they say: they belong to
   * the outbox. `refused`: it is not settled, or a person must look at it, so what is stored is needed; or there never was an
   * answer.
   */
  forget(id: SeenKey, actor: string): Promise<Operated | 'refused'>;
  /**
   * Says that a person has seen to a settled key that is flagged (`needsAttention`): a foreign call of it may have been
   * done though it ended otherwise. The flag goes, with what was kept of its steps for that person; the answer stays.
   * `refused`: it is not settled, and `resolve` or `retryNow` is what it waits for.
   */
  acknowledge(id: SeenKey, actor: string): Promise<Operated | 'refused'>;
  /**
   * `forget` for every settled key of a person, and the app's own `onErase`, in one transaction that reads the whole
   * table: a second for some millions of keys. `aliases` are the person's other principals, such as the anonymous shopper
   * they were before they signed in: the app knows them, the kit does not. What is not settled, or waits for a person, keeps
   * what it needs until then: ask again. Says by name what it leaves. Recorded also where nothing was stored.
   */
  erasePrincipal(who: PrincipalInput, actor: string): Promise<Erased>;
  /**
   * Records what a person did outside of the kit, such as a sign-in: no payload and no secret. It stands in the audit
   * beside what they did to keys.
   */
  record(act: NewAuditRecord): Promise<void>;
}

/** How long an admin waits to see the effect; it goes on without them. */
const PATIENCE_MS = 5000;

/** The app's functions that these writes call. */
export interface OperationHooks {
  /**
   * Drives a key on after an admin's word, so that the page shows the effect: `idempotency.completeKey`, in a process
   * that has imported the operations. Without it a worker does. What it throws is not the admin's.
   */
  complete?: Complete | undefined;
  /**
   * Drops what this process remembers of a forgotten key: `idempotency.dropRecent`. Without it, as in every other
   * process, a retry may still be told the erased answer for five seconds.
   */
  dropRecent?: ((of: Remembered) => void) | undefined;
  /**
   * Where `prisma` is a transaction of yours (`joinTransaction`): takes what must wait for its commit, which is `complete`,
   * `dropRecent` and `log`. What the handler of an operation is given fits.
   */
  afterCommit?: ((run: () => void | Promise<void>) => void | Promise<void>) | undefined;
  /** Called with one line for each thing that a person did. What `createIdempotency` is given fits. */
  log?: AuditLog | undefined;
}

interface OperateOptions extends OperationHooks {
  onErase?: OnErase<never> | undefined;
  windowMs: number;
  retentionMs: number;
  secrets: Secrets;
}

type Operable = Pick<Store<never>, Exclude<keyof Operations, 'resolve'> | 'recordVerdict'>;

export function operationsOn(store: Operable, options: OperateOptions): Operations {
  // Each statement commits by itself, unless it is said that it does not.
  const { complete, dropRecent, afterCommit = (run) => run() } = options;
  const line = auditLog(options.log);
  const tell: typeof line = (act) => void afterCommit(() => line(act));
  /** A second click has done nothing, so it leaves no line either. */
  const logged = <Result extends ActResult>(operated: Result, type: string, id: KeyId, actor: string): Result => {
    if (operated === 'recorded') tell({ type, actor, ...idOf(id) });
    return operated;
  };
  const completing = async <Result extends ActResult>(result: Result, type: string, id: KeyId, actor: string) => {
    const operated = logged(result, type, id, actor);
    if (operated === 'recorded' && complete) await afterCommit(() => inPatience(complete, id));
    return operated;
  };
  return {
    resolve: async (id, verdict, actor) =>
      completing(await store.recordVerdict(id, verdict, actor), 'verdict', id, actor),
    retryNow: async (id, actor) =>
      completing((await store.retryNow(id, actor)) ? 'recorded' : 'changed', 'retry', id, actor),
    release: async (id, actor) => logged(await store.release(id, actor), 'released', id, actor),
    fence: async (id, actor) => {
      const wanted = fenceOf(id, actor, options);
      return wanted ? logged(fencedAs(await store.fence(wanted)), 'fenced', id, actor) : 'refused';
    },
    forget: async (seen, actor) => {
      const id = idOf(seen);
      const operated = await store.forget({ ...id, fencingToken: seen.fencingToken }, actor);
      await afterCommit(() => dropRecent?.(id));
      return logged(operated, 'forgotten', seen, actor);
    },
    acknowledge: async (id, actor) => logged(await store.acknowledge(id, actor), 'acknowledged', id, actor),
    erasePrincipal: async (given, actor) => {
      const { tenant, principal: name, aliases = [] } = principalOf(given);
      const person = { tenant, names: [...new Set([name, ...aliases])] };
      const erased = await store.erasePrincipal(person, actor, concludeErasure(person, options.onErase));
      for (const principal of person.names) {
        await afterCommit(() => dropRecent?.({ tenant, principal }));
        tell({ type: 'erased', actor, tenant, principal });
      }
      return erased;
    },
    record: async (act) => {
      await store.record(act);
      tell({ ...act, detail: act.detail ?? undefined });
    },
  };
}

/** How long a fence waits for a claim that is not committed yet. */
const FENCE_WAIT_MS = 1000;

/**
 * Undefined for what is no key (K1), and for one that was signed for another principal or operation: its tombstone would
 * keep nobody from using it there.
 */
function fenceOf(
  { tenant, principal, operation, key }: KeyId,
  actor: string,
  { windowMs, retentionMs, secrets }: OperateOptions,
): Fence | undefined {
  const parsed = parseKey(key);
  if (parsed.shape === 'malformed') return undefined;
  const identity = identify(key, parsed, operation, { tenant, principal }, { secrets, acceptKeys: 'any' });
  const how = { windowMs, retentionMs, waitMs: FENCE_WAIT_MS, actor };
  return identity && { ...identity.id, mintedAt: identity.mintedAt, ...how };
}

function fencedAs(fenced: Fenced): Operated | 'refused' {
  if (fenced.kind === 'fenced') return 'recorded';
  return fenced.kind === 'existing' && fenced.row.state === 'abandoned' ? 'changed' : 'refused';
}

/** The key alone of what an admin has seen of it. */
const idOf = ({ tenant, principal, operation, key }: KeyId): KeyId => ({ tenant, principal, operation, key });

async function inPatience(complete: Complete, id: KeyId): Promise<void> {
  // What fails here must not hide that the verdict is recorded. Nothing is lost: the key is due, and a worker comes.
  const completed = Promise.resolve(idOf(id))
    .then(complete)
    .catch(() => {});
  await settleWithin(completed, PATIENCE_MS, () => {});
}

/** The result of the app's own erasing. Names and numbers: they are recorded, and shown to the admin. */
export interface OwnErased {
  /** How many rows were erased, by name: `{ mails: 2 }`. */
  erased?: Readonly<Record<string, number>>;
  /** Data of the person that stays, by name and with its reason: `'orders, for the books'`. */
  left?: readonly string[];
}

/**
 * Erases the app's own rows of a person, in the transaction that erases what the kit has stored. What it throws rolls both
 * back.
 */
export type OnErase<Tx> = (person: Person, tx: Tx) => Promise<OwnErased | undefined> | OwnErased | undefined;

/** Asks the app to erase what is its own, and says by name what is left. */
function concludeErasure(person: Person, onErase: OnErase<never> | undefined) {
  return async ({ forgotten, unsettled, hasMessages }: ErasedKeys, tx: unknown): Promise<Erased> => {
    const none: OwnErased = { left: ['rows of your own: createAdmin has no onErase'] };
    const own = onErase ? await onErase(person, tx as never) : none;
    const left = [
      'keys, without their answers, until they expire',
      // Nobody sees them before they are committed, nor whose they are.
      'answers of calls that were running meanwhile: erase again when the longest of them is over',
      ...(unsettled > 0 ? ['what is stored of keys that are not settled, or wait for a person'] : []),
      ...(hasMessages ? ['payloads of events in the outbox and the inbox'] : []),
      'the audit, this erasure included',
      ...(own?.left ?? []),
    ];
    return { forgotten, unsettled, erased: own?.erased ?? {}, left };
  };
}

/**
 * One thing that a person did, in the fields of a log line: the copy of its record that leaves the database at once. Holds
 * no payload, no result and no secret.
 */
export interface AuditLogEntry {
  level: 'info';
  /** `audit: ` and the type of the record, to search for. */
  msg: string;
  actor: string;
  /** Whose key, and which; left out where it is about none. */
  tenant?: string | undefined;
  principal?: string | undefined;
  operation?: string | undefined;
  key?: string | undefined;
  /** The event, and its destination or source, where it is about a message. */
  event?: string | undefined;
  peer?: string | undefined;
  detail?: Readonly<Record<string, string>> | undefined;
  /** The trace it happened in. */
  correlation_id?: string | undefined;
}

/** Where lines about what people did go: `createIdempotency`’s `log` fits. What it throws changes nothing. */
export type AuditLog = (entry: AuditLogEntry) => void | Promise<void>;

type Act = Pick<NewAuditRecord, 'type' | 'actor'> & Omit<AuditLogEntry, 'level' | 'msg' | 'actor' | 'correlation_id'>;

/** Writes the line of something that was done. */
export function auditLog(log: AuditLog | undefined): (act: Act) => void {
  const write = tracedLog(log);
  return ({ type, ...fields }) => write?.({ level: 'info', msg: `audit: ${type}`, ...fields });
}
