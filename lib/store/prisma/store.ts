import { renewalIntervalMs } from '../../core/lease.ts';
import type { Leases } from '../leases.ts';
import type { LostKeys } from '../lost-keys.ts';
import type { Oversight } from '../oversight.ts';
import type { ExecuteOptions } from '../rows.ts';
import type { Fence, Fenced, Store } from '../store.ts';
import type { PrismaClientLike, RawQueries, TransactionOf } from './client.ts';
import { OwnClient } from './client-pool.ts';
import { databaseFacts } from './database-facts.ts';
import { Gate } from './db.ts';
import { isLockTimeout } from './errors.ts';
import { execute, rerun } from './execution.ts';
import { audit, reapAudit, record } from './keys/audit.ts';
import { judgeWindow, probe } from './keys/claim.ts';
import { tryClaim } from './keys/claim-check.ts';
import { fence } from './keys/fence.ts';
import { hold, markUnknown, postpone, suspend, takeDue, takeOver, wake } from './keys/lease.ts';
import { type Counted, list, overview, unfinished } from './keys/list.ts';
import { announcedIn, enterLost, knownEvents } from './keys/lost-keys.ts';
import { erasePrincipal, forget, recordEvidence, recordVerdict, release, retryNow } from './keys/operate.ts';
import { events, find, recordEvent, stepsOf } from './keys/read.ts';
import { type Reaped, reap } from './keys/reap.ts';
import { readSchema } from './keys/schema.ts';
import { finishForeign, recordCapture, recordNotExecuted, resolve, startForeign } from './keys/steps.ts';
import { addTallies, reapTallies, tallies } from './keys/tallies.ts';
import { announced } from './messages/outbox.ts';
import { isUnavailable } from './outage.ts';
import { begin, transact } from './phases.ts';
import { originalOf, renamedClient, renamedQueries } from './renaming.ts';
import { awaitReplication } from './standby-wait.ts';
import { renamerOf, type Tables } from './tables.ts';
import { BATCH_MS, ERASE_MS, QUESTION_MS } from './timeouts.ts';
import type { TransactionOptions } from './transaction.ts';

/** Which transactions executions have: see `createIdempotency`. */
export type TransactionMode = 'ambient' | 'interactive';

/**
 * The store on the user's own Prisma client.
 *
 * @throws ConfigurationError for tables whose names cannot be used, and in ambient mode for a client whose queries could
 *   not be kept apart
 */
export function prismaStore<Client extends PrismaClientLike>(
  client: Client,
  { tables, transaction }: { tables?: Tables | undefined; transaction?: TransactionMode | undefined } = {},
): Store<TransactionOf<Client>> {
  const rename = renamerOf(tables);
  const own =
    transaction === 'interactive' ? undefined : new OwnClient(client, { isAmbient: transaction === 'ambient', rename });
  const renamed = rename ? renamedClient(client, rename) : client;
  const setting = { rename, own };
  return storeOn({ client: renamed, setting, gate: new Gate(renamed, setting), reaped: {}, counted: {} });
}

/** What the parts of a store share. */
interface Base {
  client: PrismaClientLike;
  setting: Pick<TransactionOptions, 'rename' | 'own'>;
  gate: Gate;
  reaped: Reaped;
  counted: Counted;
}

function storeOn<Tx>(base: Base): Store<Tx> {
  const { client, setting, gate } = base;
  const inSetting = (how: ExecuteOptions): TransactionOptions => ({ ...how, ...setting, gate });
  return {
    ...leasesOn<Tx>(base),
    ...oversightOn(base),
    ...lostKeysOn<Tx>(base),
    until: (deadline) => storeOn({ ...base, gate: gate.until(deadline) }),
    execute: (claim, run, how) => execute(client, claim, run, inSetting(how)),
    rerun: (id, run, how) => rerun(client, id, run, inSetting(how)),
    find: (id) => gate.ask((db) => find(db, id), { isRepeatable: true }),
    probe: (id) => gate.ask((db) => probe(db, id)),
    fence: (wanted) => gate.ask((db) => fenceOrRival(db, wanted), { withinMs: wanted.waitMs + QUESTION_MS }),
    awaitReplication: (how) => awaitReplication(inSetting({ ...how, beforeCommit: () => {} })),
    isUnavailable,
    recordEvent: (id, event) => gate.ask((db) => recordEvent(db, id, event)),
    events: (id) => gate.ask((db) => events(db, id)),
    readSchema: () => gate.ask(readSchema),
    tryClaim: () => gate.askThroughClient((client) => tryClaim(client, setting.own), { withinMs: BATCH_MS }),
  };
}

/** The part of it that operations in phases need. */
function leasesOn<Tx>({ client, setting, gate, reaped }: Base): Leases<Tx> {
  return {
    begin: (claim, run, how) => begin(client, claim, run, { ...how, ...setting, gate }),
    takeOver: (id, leaseMs, early) => gate.ask((db) => takeOver(db, id, leaseMs, early)),
    takeDue: (shares, leaseMs) => gate.ask((db) => takeDue(db, shares, leaseMs)),
    // Without an answer when the next one is due, it is of no use any more.
    renew: (held, leaseMs) =>
      gate.ask((db) => hold(db, held, leaseMs, leaseMs), { withinMs: renewalIntervalMs(leaseMs) }),
    transact: (held, leaseMs, run, how) => transact(client, held, leaseMs, run, { ...how, ...setting, gate }),
    recordCapture: (held, leaseMs, step) => gate.ask((db) => recordCapture(db, held, leaseMs, step)),
    startForeign: (held, leaseMs, call) => gate.ask((db) => startForeign(db, held, leaseMs, call)),
    finishForeign: (held, leaseMs, step) => gate.ask((db) => finishForeign(db, held, leaseMs, step)),
    resolve: (held, leaseMs, step) => gate.ask((db) => resolve(db, held, leaseMs, step)),
    recordNotExecuted: (held, leaseMs, name) => gate.ask((db) => recordNotExecuted(db, held, leaseMs, name)),
    suspend: (held, put) => gate.ask((db) => suspend(db, held, put)),
    postpone: (held, put) => gate.ask((db) => postpone(db, held, put)),
    markUnknown: (held, how) => gate.ask((db) => markUnknown(db, held, how)),
    wake: (id) => gate.ask((db) => wake(db, id)),
    steps: (id) => gate.ask((db) => stepsOf(db, id)),
    recordVerdict: (id, verdict, actor) => gate.ask((db) => recordVerdict(db, id, verdict, actor)),
    retryNow: (id, actor) => gate.ask((db) => retryNow(db, id, actor)),
    recordEvidence: (tx, id, said, actor) => recordEvidence(inNames(tx as RawQueries, setting), id, said, actor),
    unfinished: (stuckAfterMs) => gate.ask((db) => unfinished(db, stuckAfterMs)),
    reap: (limit) => gate.ask((db) => reap(db, limit, reaped), { withinMs: BATCH_MS }),
  };
}

/** The part of it that stands behind an admin view. */
function oversightOn({ gate, counted }: Base): Oversight {
  return {
    list: (filter) => gate.ask((db) => list(db, filter), { withinMs: BATCH_MS }),
    databaseFacts: () => gate.ask(databaseFacts),
    overview: (stuckAfterMs) => gate.ask((db) => overview(db, stuckAfterMs, { counted }), { withinMs: BATCH_MS }),
    // Where its answer is lost it is sent again: a sketch may hold that twice.
    addTallies: (tallied) => gate.ask((db) => addTallies(db, tallied), { isRepeatable: true }),
    tallies: (since) => gate.ask((db) => tallies(db, since)),
    reapTallies: () => gate.ask(reapTallies, { withinMs: BATCH_MS }),
    announced: (time, intent) => gate.ask((db) => announced(db, time, intent)),
    release: (id, actor) => gate.ask((db) => release(db, id, actor)),
    forget: (id, actor) => gate.ask((db) => forget(db, id, actor)),
    erasePrincipal: (person, actor, conclude) =>
      gate.askThroughClient(
        (client) => erasePrincipal(client, person, actor, (keys, tx) => conclude(keys, originalOf(tx as RawQueries))),
        { withinMs: ERASE_MS },
      ),
    record: (act) => gate.ask((db) => record(db, act)),
    audit: (filter) => gate.ask((db) => audit(db, filter)),
    reapAudit: (retentionMs, limit) => gate.ask((db) => reapAudit(db, retentionMs, limit), { withinMs: BATCH_MS }),
  };
}

/** The part of it that enters lost keys. */
function lostKeysOn<Tx>({ gate, setting }: Base): LostKeys<Tx> {
  return {
    enterLost: (lost, by) => gate.ask((db) => enterLost(db, lost, by)),
    announcedIn: (tx) => announcedIn(inNames(tx as RawQueries, setting)),
    recordIn: (tx, act) => record(inNames(tx as RawQueries, setting), act),
    knownEvents: (ids) => gate.ask((db) => knownEvents(db, ids)),
  };
}

const inNames = (tx: RawQueries, { rename }: Base['setting']) => (rename ? renamedQueries(tx, rename) : tx);

async function fenceOrRival(client: PrismaClientLike, wanted: Fence): Promise<Fenced> {
  try {
    return await client.$transaction(
      async (tx: RawQueries): Promise<Fenced> => {
        if (await fence(tx, wanted)) {
          const fenced = { type: 'fenced', detail: null } as const;
          // A person's doing outlives the tombstone; a client's is a note on it.
          if (wanted.actor !== undefined) await record(tx, { ...wanted, ...fenced, actor: wanted.actor });
          else await recordEvent(tx, wanted, { ...fenced, actor: 'client' });
          return { kind: 'fenced' };
        }
        const row = await find(tx, wanted);
        if (row) return { kind: 'existing', row };
        const verdict = await judgeWindow(tx, wanted);
        // Another's claim; or a row that was in the way and has just been reaped: nothing is proven, so ask again.
        return verdict === 'open' ? { kind: 'locked' } : { kind: verdict };
      },
      { timeout: wanted.waitMs + QUESTION_MS, isolationLevel: 'ReadCommitted' },
    );
  } catch (error) {
    if (isLockTimeout(error)) return { kind: 'locked' };
    throw error;
  }
}
