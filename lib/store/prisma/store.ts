import type { Leases } from '../leases.ts';
import type { Oversight } from '../oversight.ts';
import type { ExecuteOptions, Fence, Fenced, Store } from '../store.ts';
import { announced } from './announced.ts';
import { askedOn } from './asked.ts';
import { audit, reapAudit, record } from './audit.ts';
import { begin } from './begin.ts';
import { type PrismaClientLike, primaryOf, type RawQueries, type TransactionOf } from './client.ts';
import { databaseFacts } from './database-facts.ts';
import { isLockTimeout } from './errors.ts';
import { events, recordEvent } from './events.ts';
import { recordEvidence } from './evidence.ts';
import { execute } from './execute.ts';
import { fence } from './fence.ts';
import { find } from './find.ts';
import { finishForeign, recordCapture, recordNotExecuted } from './finish-step.ts';
import { erasePrincipal, forget } from './forget.ts';
import { hold } from './hold.ts';
import { markUnknown, postpone, suspend, wake } from './let-go.ts';
import { list } from './list.ts';
import { isUnavailable } from './outage.ts';
import { overview } from './overview.ts';
import { OwnClient } from './own-client.ts';
import { probe } from './probe.ts';
import { reap } from './reap.ts';
import { release } from './release.ts';
import { originalOf, renamedClient, renamedQueries } from './renamed.ts';
import { rerun } from './rerun.ts';
import { resolve } from './resolve.ts';
import { readSchema } from './schema-version.ts';
import { awaitReplication } from './standby-wait.ts';
import { startForeign } from './start-foreign.ts';
import { stepsOf } from './steps.ts';
import { renamerOf, type Tables } from './tables.ts';
import { takeDue, takeOver } from './take.ts';
import { addTallies, reapTallies, tallies } from './tallies.ts';
import { transact } from './transact.ts';
import type { TransactionOptions } from './transaction.ts';
import { tryClaim } from './try-claim.ts';
import { unfinished } from './unfinished.ts';
import { recordVerdict, retryNow } from './verdict.ts';
import { judgeWindow } from './window.ts';

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
  const store = storeOn<TransactionOf<Client>>(rename ? renamedClient(client, rename) : client, { rename, own });
  if (!rename) return store;
  return {
    ...store,
    recordEvidence: (tx, id, said, actor) =>
      store.recordEvidence(renamedQueries(tx as RawQueries, rename) as never, id, said, actor),
    erasePrincipal: (person, actor, conclude) =>
      store.erasePrincipal(person, actor, (keys, tx) => conclude(keys, originalOf(tx as RawQueries))),
  };
}

type Setting = Pick<TransactionOptions, 'rename' | 'own'>;

function storeOn<Tx>(client: PrismaClientLike, setting: Setting): Store<Tx> {
  const primary = () => primaryOf(client);
  const asked = askedOn(primary);
  const inSetting = (how: ExecuteOptions): TransactionOptions => ({ ...how, ...setting });
  return {
    ...leasesOn<Tx>(client, setting),
    ...oversightOn(client, setting),
    execute: (claim, run, how) => execute(client, claim, run, inSetting(how)),
    rerun: (id, run, how) => rerun(client, id, run, inSetting(how)),
    find: (id) => asked(() => find(setting.own?.reader ?? primary(), id)),
    probe: (id) => asked(() => probe(client, primary(), id)),
    fence: (wanted) => asked(() => fenceOrRival(client, wanted)),
    awaitReplication: (how) => awaitReplication(client, inSetting({ ...how, beforeCommit: () => {} })),
    isUnavailable,
    recordEvent: (id, event) => asked(() => recordEvent(primary(), id, event)),
    events: (id) => asked(() => events(primary(), id)),
    readSchema: () => asked(() => readSchema(primary())),
    tryClaim: () => asked(() => tryClaim(client, setting.own)),
  };
}

/** The part of it that operations in phases need. */
function leasesOn<Tx>(client: PrismaClientLike, setting: Setting): Leases<Tx> {
  const db = () => primaryOf(client);
  const asked = askedOn(db);
  return {
    begin: (claim, run, how) => begin(client, claim, run, { ...how, ...setting }),
    takeOver: (id, leaseMs, early) => asked(() => takeOver(db(), id, leaseMs, early)),
    takeDue: (shares, leaseMs) => asked(() => takeDue(db(), shares, leaseMs)),
    renew: (held, leaseMs) => asked(() => hold(db(), held, leaseMs, leaseMs)),
    transact: (held, leaseMs, run, how) => transact(client, held, leaseMs, run, { ...how, ...setting }),
    recordCapture: (held, leaseMs, step) => asked(() => recordCapture(db(), held, leaseMs, step)),
    startForeign: (held, leaseMs, call) => asked(() => startForeign(db(), held, leaseMs, call)),
    finishForeign: (held, leaseMs, step) => asked(() => finishForeign(db(), held, leaseMs, step)),
    resolve: (held, leaseMs, step) => asked(() => resolve(db(), held, leaseMs, step)),
    recordNotExecuted: (held, leaseMs, name) => asked(() => recordNotExecuted(db(), held, leaseMs, name)),
    suspend: (held, put) => asked(() => suspend(db(), held, put)),
    postpone: (held, put) => asked(() => postpone(db(), held, put)),
    markUnknown: (held, how) => asked(() => markUnknown(db(), held, how)),
    wake: (id) => asked(() => wake(db(), id)),
    steps: (id) => asked(() => stepsOf(db(), id)),
    recordVerdict: (id, verdict, actor) => asked(() => recordVerdict(db(), id, verdict, actor)),
    retryNow: (id, actor) => asked(() => retryNow(db(), id, actor)),
    recordEvidence: (tx, id, said, actor) => recordEvidence(tx as RawQueries, id, said, actor),
    unfinished: (stuckAfterMs) => asked(() => unfinished(db(), stuckAfterMs)),
    reap: (limit) => asked(() => reap(db(), limit)),
  };
}

/** The part of it that stands behind an admin view. */
function oversightOn(client: PrismaClientLike, { own }: Setting): Oversight {
  const db = () => primaryOf(client);
  const asked = askedOn(db);
  return {
    list: (filter) => asked(() => list(db(), filter)),
    databaseFacts: () => asked(() => databaseFacts(db())),
    overview: (stuckAfterMs) => asked(() => overview(db(), stuckAfterMs)),
    // Where its answer is lost it is sent again: a sketch may hold that twice.
    addTallies: (counts) => asked(() => addTallies(own?.reader ?? db(), counts)),
    tallies: (since) => asked(() => tallies(db(), since)),
    reapTallies: () => asked(() => reapTallies(db())),
    announced: (time, intent) => asked(() => announced(db(), time, intent)),
    release: (id, actor) => asked(() => release(db(), id, actor)),
    forget: (id, actor) => asked(() => forget(db(), id, actor)),
    erasePrincipal: (person, actor, conclude) => asked(() => erasePrincipal(client, person, actor, conclude)),
    record: (act) => asked(() => record(db(), act)),
    audit: (filter) => asked(() => audit(db(), filter)),
    reapAudit: (retentionMs, limit) => asked(() => reapAudit(db(), retentionMs, limit)),
  };
}

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
      { timeout: wanted.waitMs + 5000, isolationLevel: 'ReadCommitted' },
    );
  } catch (error) {
    if (isLockTimeout(error)) return { kind: 'locked' };
    throw error;
  }
}
