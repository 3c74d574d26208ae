import { renewalIntervalMs } from '../../core/lease.ts';
import type { LostKeys } from '../lost-keys.ts';
import type { Store } from '../store.ts';
import type { PrismaClientLike, TransactionOf } from './client.ts';
import { type AskOptions, askingBy, Db, type DbOptions } from './db.ts';
import { isUnavailable } from './errors.ts';
import { awaitReplication, execute, rerun } from './execute.ts';
import { tryClaim } from './keys/claim-check.ts';
import { findRevision, recordEvidence, recordLateAnswer, recordVerdict } from './keys/evidence.ts';
import { fence, probe } from './keys/fence.ts';
import { markUnknown, postpone, renew, suspend, takeDue, takeOver } from './keys/lease.ts';
import { type CountCache, countOpen, flagUnlisted, list, overview } from './keys/list.ts';
import { lostKeysOn } from './keys/lost-keys.ts';
import { acknowledge, audit, erasePrincipal, forget, reapAudit, record, release, retryNow } from './keys/operate.ts';
import { findDeciding, findEvents, findSteps, recordEvent, thingOf } from './keys/read.ts';
import { type Reaped, reapKeys } from './keys/reap.ts';
import { readSchema } from './keys/schema.ts';
import { finishForeign, recordCapture, recordNotExecuted, resolve, startForeign } from './keys/steps.ts';
import { addTallies, databaseFacts, reapTallies, tallies } from './keys/tallies.ts';
import { findAnnounced } from './messages/outbox.ts';
import { begin, transact } from './phases.ts';
import { BATCH_MS, QUESTION_MS } from './timeouts.ts';

/**
 * The store on the user's own Prisma client.
 *
 * @throws ConfigurationError for tables whose names cannot be used
 */
export function prismaStore<Client extends PrismaClientLike>(
  client: Client,
  options?: Omit<DbOptions, 'part'>,
): Store<TransactionOf<Client>> {
  return storeOn(new Db(client, options), { reaped: {}, counted: {} });
}

/** What enters lost keys, beside that store. */
export function prismaLostKeys<Client extends PrismaClientLike>(
  client: Client,
  options?: Omit<DbOptions, 'part'>,
): LostKeys<TransactionOf<Client>> {
  return lostKeysOn(new Db(client, options));
}

const BATCH: AskOptions = { withinMs: BATCH_MS };
const REPEATABLE: AskOptions = { isRepeatable: true };

/** @param progress what the reaper and the counts remember from one call to the next */
function storeOn<Tx>(db: Db, progress: { reaped: Reaped; counted: CountCache }): Store<Tx> {
  const asking = askingBy(db);
  return {
    until: (deadline) => storeOn(db.until(deadline), progress),
    isUnavailable,

    execute: (claim, run, how) => execute(db, claim, run, how),
    rerun: (id, run, how) => rerun(db, id, run, how),
    awaitReplication: (how) => awaitReplication(db, how),
    find: asking(findDeciding, REPEATABLE),
    thingOf: asking(thingOf, REPEATABLE),
    probe: asking(probe),
    fence: (wanted) => db.run((queries) => fence(queries, wanted), { withinMs: wanted.waitMs + QUESTION_MS }),
    recordEvent: asking(recordEvent),
    events: asking(findEvents),
    readSchema: asking(readSchema),
    tryClaim: () => tryClaim(db),

    begin: (claim, run, how) => begin(db, claim, run, how),
    transact: (held, leaseMs, run, how) => transact(db, held, leaseMs, run, how),
    takeOver: asking(takeOver),
    takeDue: asking(takeDue),
    // An answer that comes when the next renewal is due is of no use any more.
    renew: (held, leaseMs) =>
      db.run((queries) => renew(queries, held, leaseMs, leaseMs), { withinMs: renewalIntervalMs(leaseMs) }),
    suspend: asking(suspend),
    postpone: asking(postpone),
    markUnknown: asking(markUnknown),
    // It waits for the transaction of whoever has the key now. Given up, nobody would ever hear of it. Twice it is one event.
    recordLateAnswer: asking(recordLateAnswer, { ...BATCH, ...REPEATABLE }),
    steps: asking(findSteps),
    recordCapture: asking(recordCapture),
    startForeign: asking(startForeign),
    finishForeign: asking(finishForeign),
    resolve: asking(resolve),
    recordNotExecuted: asking(recordNotExecuted),
    revision: asking(findRevision, REPEATABLE),
    recordVerdict: asking(recordVerdict),
    retryNow: asking(retryNow),
    recordEvidence: (tx, ...evidence) => recordEvidence(db.queriesOn(tx), ...evidence),
    countOpen: asking(countOpen),
    reapKeys: (limit) => db.run((queries) => reapKeys(queries, limit, progress.reaped), BATCH),

    list: asking(list, BATCH),
    overview: (stuckAfterMs, tenant) =>
      db.run((queries) => overview(queries, stuckAfterMs, tenant, { counted: progress.counted }), BATCH),
    flagUnlisted: asking(flagUnlisted, BATCH),
    databaseFacts: asking(databaseFacts),
    // Sent again where its answer is lost, so it may be counted twice.
    addTallies: asking(addTallies, REPEATABLE),
    tallies: asking(tallies),
    reapTallies: asking(reapTallies, BATCH),
    announced: asking(findAnnounced),
    release: asking(release),
    forget: asking(forget),
    acknowledge: asking(acknowledge),
    erasePrincipal: (person, actor, conclude) => erasePrincipal(db, person, actor, conclude),
    record: asking(record),
    audit: asking(audit),
    reapAudit: asking(reapAudit, BATCH),
  };
}
