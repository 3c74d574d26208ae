import { renewalIntervalMs } from '../../core/lease.ts';
import type { Store } from '../store.ts';
import type { PrismaClientLike, TransactionOf } from './client.ts';
import { type AskOptions, askingBy, Db, type DbOptions } from './db.ts';
import { isUnavailable } from './errors.ts';
import { awaitReplication, execute, rerun } from './execute.ts';
import { tryClaim } from './keys/claim-check.ts';
import { findSeen, recordEvidence, recordLateAnswer, recordVerdict } from './keys/evidence.ts';
import { fence, probe } from './keys/fence.ts';
import { leaseQuestions, renew } from './keys/lease.ts';
import { listQuestions } from './keys/list.ts';
import { actQuestions, erasePrincipal, reapAudit } from './keys/operate.ts';
import { type CountCache, countOpen, overview } from './keys/overview.ts';
import { find, findObstacle, readQuestions, thingOf } from './keys/read.ts';
import { type Reaped, reapKeys } from './keys/reap.ts';
import { readSchema } from './keys/schema.ts';
import { stepQuestions } from './keys/steps.ts';
import { addTallies, reapTallies, tallyQuestions } from './keys/tallies.ts';
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

const BATCH: AskOptions = { withinMs: BATCH_MS };
const REPEATABLE: AskOptions = { isRepeatable: true };

/** @param progress what the reaper and the counts remember from one call to the next */
function storeOn<Tx>(db: Db, progress: { reaped: Reaped; counted: CountCache }): Store<Tx> {
  const asking = askingBy(db);
  return {
    until: (deadline) => storeOn(db.until(deadline), progress),
    isUnavailable,
    violatedConstraint: (error) => db.violatedConstraint(error),

    ...asking({ ...leaseQuestions, ...stepQuestions, ...actQuestions, ...readQuestions, ...tallyQuestions }),
    ...asking({ probe, recordVerdict, countOpen, announced: findAnnounced, readSchema }),
    ...asking({ ...listQuestions, reapTallies, reapAudit }, BATCH),
    ...asking({ find, findObstacle, thingOf, asSeen: findSeen }, REPEATABLE),
    // Sent again where its answer is lost, so it may be counted twice.
    ...asking({ addTallies }, REPEATABLE),
    // It waits for the transaction of whoever has the key now. Given up, nobody would ever hear of it. Twice it is one event.
    ...asking({ recordLateAnswer }, { ...BATCH, ...REPEATABLE }),

    execute: (claim, run, how) => execute(db, claim, run, how),
    rerun: (id, run, how) => rerun(db, id, run, how),
    begin: (claim, run, how) => begin(db, claim, run, how),
    transact: (held, leaseMs, run, how) => transact(db, held, leaseMs, run, how),
    awaitReplication: (how) => awaitReplication(db, how),
    tryClaim: () => tryClaim(db),
    fence: (wanted) => db.run((queries) => fence(queries, wanted), { withinMs: wanted.waitMs + QUESTION_MS }),
    // An answer that comes when the next renewal is due is of no use any more.
    renew: (held, leaseMs) =>
      db.run((queries) => renew(queries, held, leaseMs, leaseMs), { withinMs: renewalIntervalMs(leaseMs) }),
    recordEvidence: (tx, ...evidence) => recordEvidence(db.queriesOn(tx), ...evidence),
    reapKeys: (limit) => db.run((queries) => reapKeys(queries, limit, progress.reaped), BATCH),
    overview: (stuckAfterMs, tenant) =>
      db.run((queries) => overview(queries, stuckAfterMs, tenant, { counted: progress.counted }), BATCH),
    erasePrincipal: (person, actor, conclude) => erasePrincipal(db, person, actor, conclude),
  };
}
