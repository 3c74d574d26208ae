import type { Claim, KeyWindow, Obstacle } from '../../rows.ts';
import type { RawQueries } from '../client.ts';
import { readOnlyError } from '../errors.ts';
import { LEVEL, type Rows, type Statement } from '../statement.ts';
import { timestamp } from '../wire/encoding.ts';
import { epochMs, findObstacle, IS_KEY, keyValues } from './read.ts';
import { drawTickets, lockTimeout, TICKET, thingTicketOf, ticketOf, tryBoth } from './ticket.ts';

/** Says to the database's trigger that a statement of the kit's writes the thing beside its key. It ends with the transaction. */
const SET_HELD = `set_config('oncekit.thing', 'held', true)`;

/** Writes that the key of parameters 1 to 4 holds a thing. `how`: from where, and what of a conflict. */
export const holdThing = ([thing, isForever]: Held, how = '') => `
  INSERT INTO idempotency_things (tenant, principal, operation, key, thing, is_forever)
  SELECT $1, $2, $3, $4, ${thing}, ${isForever}::boolean${how}`;

/** The parameters of a thing: its name, and whether it is held for ever. */
type Held = readonly [thing: string, isForever: string];

/**
 * The condition, in SQL, under which a key without a row may be claimed at this very moment: it was not minted here, or
 * within the window by the server's clock.
 *
 * @param minted parameter of the time that the key carries
 * @param windowMs parameter of the window
 */
export function inWindow(minted: string, windowMs: string): string {
  return `(${minted}::timestamptz IS NULL
        OR (${minted}::timestamptz > clock_timestamp() - ${windowMs}::float8 * interval '1 ms'
            AND ${minted}::timestamptz <= clock_timestamp() + interval '5 min'))`;
}

const JUDGE = `
SELECT CASE WHEN $1::timestamptz <= clock_timestamp() - $2::float8 * interval '1 ms' THEN 'expired'
            WHEN $1::timestamptz > clock_timestamp() + interval '5 min' THEN 'early'
            ELSE 'open' END AS verdict`;

type Judged = { verdict: 'open' | 'expired' | 'early' };

/** Tells whether a key that has no row may still be claimed, by the server's clock. */
export async function judgeWindow(db: RawQueries, { mintedAt, windowMs }: KeyWindow): Promise<Judged['verdict']> {
  if (mintedAt === null) return 'open';
  const [judged] = await db.$queryRawUnsafe<[Judged]>(JUDGE, timestamp(mintedAt), windowMs);
  return judged.verdict;
}

const NO_LEASE = { columns: '', values: '' };

/** What a claim has besides: CTEs before it, which `drawn` comes `from`, the parameters of its `thing`, the columns of a lease. */
type ClaimParts = Partial<Record<'before' | 'from' | 'returning', string>> & { thing?: Held; lease?: typeof NO_LEASE };

/**
 * The claim of a transaction whose COMMIT is Prisma's, and of one that waits for another's: a row, completed before COMMIT.
 * The caller whose INSERT succeeds executes; the unique index is the only arbiter.
 *
 * The interleaving it prevents: two transactions both look, both see nothing, both run. Here the second INSERT meets
 * the first one's index entry and waits for its transaction. When that commits, ON CONFLICT DO NOTHING returns no row
 * (not an error: P2002 would abort the transaction); when it rolls back, the waiting INSERT goes in.
 *
 * The ticket makes that wait visible before it begins, so that whoever must not wait does not: it tries to draw it, and
 * inserts nothing if another transaction holds the ticket. Whoever waits does so for the ticket, within `lock_timeout`, which is
 * set in the same statement and put back by it, so that it never hits the handler's own locks. The CTEs depend on each
 * other to fix their order. Where no row comes back the transaction has nothing left to do, and the setting ends with it.
 *
 * `idle_in_transaction_session_timeout` is for the executor that has gone silent, its machine paused or its cable cut:
 * the server ends its transaction, which nobody else can, and the key is free again.
 *
 * A minted key outside its window is not inserted (K3), judged by the server's clock at this very moment, not at the
 * start of a transaction that may have waited.
 *
 * A `thing` is written first, and where that fails, no key: another key of it is met like another claim. Where the key alone
 * fails, `findConflict` takes the thing away again.
 */
const claim = (drawn: string, { before = '', from = '', returning = '', thing, lease = NO_LEASE }: ClaimParts) => {
  const mayClaim = `WHERE ${drawn}
   AND ${inWindow('$9', '$10')}`;
  const how = `\n  ${from} ${mayClaim}\n  ON CONFLICT (thing, operation, tenant) DO NOTHING\n  RETURNING ${SET_HELD}`;
  const held = thing && holdThing(thing, how);
  return `${before}${held ? `${before ? ',' : '\nWITH'} held AS (${held})` : ''}
INSERT INTO idempotency_keys (tenant, principal, operation, key, state, fingerprint, fingerprint_version, secret_id,
                              schema_version, minted_at, claimed_at, expires_at, trace_parent${lease.columns}${thing ? ', thing' : ''})
SELECT $1, $2, $3, $4, 'in_progress', $5::bytea, $6::smallint, $7, $8::int, $9::timestamptz, clock_timestamp(),
       greatest(clock_timestamp(), $9::timestamptz) + $11::float8 * interval '1 ms', $14${lease.values}${thing ? `, ${thing[0]}` : ''}
  ${held ? 'FROM held' : `${from}\n ${mayClaim}`}
ON CONFLICT (tenant, principal, operation, key) DO NOTHING
RETURNING ${epochMs('claimed_at')} AS "claimedAtMs", ${epochMs('expires_at')} AS "expiresAtMs",
          set_config('idle_in_transaction_session_timeout', $13, true) AS idle, ${LEVEL}${returning}`;
};

/** The same where it may wait, for as long as the parameter `timeout` says; with a lease in `lease.ts`. */
export const claimWaiting = (timeout: string, drawn: string, how: Pick<ClaimParts, 'thing' | 'lease'> = {}) =>
  claim('drawn', {
    ...how,
    before: `
WITH before AS MATERIALIZED (SELECT current_setting('lock_timeout') AS lock_timeout),
     bounded AS MATERIALIZED (SELECT set_config('lock_timeout', ${timeout}, true) FROM before),
     ticket AS MATERIALIZED (SELECT ${drawn} AS drawn FROM bounded)`,
    from: 'FROM ticket',
    returning: `,
          set_config('lock_timeout', (SELECT lock_timeout FROM before), true) AS restored`,
  });

const CLAIM_WAITING = claimWaiting('$15', 'pg_advisory_xact_lock($12::bigint) IS NOT NULL');
const CLAIM_AT_ONCE = claim('pg_try_advisory_xact_lock($12::bigint)', {});

const CLAIM_THING_WAITING = claimWaiting('$18', drawTickets('$12', '$17', 'true'), { thing: ['$15', '$16'] });
const CLAIM_THING_AT_ONCE = claim(tryBoth('$12', '$17'), { thing: ['$15', '$16'] });

/**
 * The claim of a transaction of the kit's own, which nearly every claim is. It writes nothing: nobody could see the row
 * before COMMIT, the ticket keeps others out until then, and the completion writes it once and whole (`complete.ts`). There
 * the unique index decides again, should a row have come without a ticket.
 *
 * Two statements, because one would look with a snapshot taken before it had the ticket: a rival that commits in between
 * would be missed, and the handler run beside its effect. The setting says to the completion that it is still the same
 * transaction, and ends with it.
 */
const draw = (drawn: string, besides = '') => `
SELECT set_config('${TICKET}', CASE WHEN ${drawn} THEN 'drawn' ELSE '' END, true)${besides}`;
const look = (thing = '') => `
SELECT current_setting('${TICKET}') = 'drawn'
       AND NOT EXISTS (SELECT FROM idempotency_keys WHERE ${IS_KEY})${
         thing &&
         `
       AND NOT EXISTS (SELECT FROM idempotency_things WHERE tenant = $1 AND operation = $3 AND thing = ${thing})`
       }
       AND ${inWindow('$5', '$6')} AS "isFree",
       current_setting('transaction_read_only') = 'on' AS "isReadOnly",
       ${epochMs('clock_timestamp()')} AS "claimedAtMs",
       set_config('idle_in_transaction_session_timeout', $7, true) AS idle`;

const DRAW = draw('pg_try_advisory_xact_lock($1::bigint)');
const LOOK = look();

const DRAW_BOTH = draw(tryBoth('$1', '$2'), `, ${SET_HELD}`);
const LOOK_FOR_THING = look('$8');

/**
 * Parameters 1 to 14 of every claim that writes a row; its own come behind them.
 *
 * @param holdMs how long the transaction may be idle before the server ends it
 */
export function claimValues(claim: Claim, holdMs: number) {
  const { hash, version, secretId } = claim.fingerprint;
  return [
    ...keyValues(claim),
    hash,
    version,
    secretId,
    claim.schemaVersion,
    claim.mintedAt && timestamp(claim.mintedAt),
    claim.windowMs,
    claim.retentionMs,
    ticketOf(claim),
    idleLimit(holdMs),
    claim.traceParent ?? null,
  ] as const;
}

/** Writes how long a transaction may be idle, with a second more, in which the kit ends it itself. */
export const idleLimit = (holdMs: number) => `${Math.ceil(holdMs) + 1000}ms`;

/** The values of a thing's parameters, and its ticket. */
export const thingValues = (of: Pick<Claim, 'tenant' | 'operation' | 'holdsForever'>, thing: string) =>
  [thing, of.holdsForever ?? false, thingTicketOf(of, thing)] as const;

/** A key that is this execution's. */
export interface Claimed {
  claimedAtMs: number;
  expiresAtMs: number;
  /** Its row is there, and is to be completed; otherwise the completion writes it. */
  isWritten: boolean;
}

/**
 * The claim of an execution in one transaction. Read its last answer with `readClaim`.
 *
 * @param holdMs how long the transaction may be idle before the server ends it
 * @param writesOnce whether the completion writes the row: where nobody but the kit sends COMMIT, under READ COMMITTED
 */
export function claimStatements(claim: Claim, holdMs: number, writesOnce: boolean): Statement[] {
  const { thing } = claim;
  if (writesOnce && claim.waitMs <= 0) {
    const { mintedAt, windowMs } = claim;
    const look = [...keyValues(claim), mintedAt && timestamp(mintedAt), windowMs, idleLimit(holdMs)];
    if (thing === undefined) {
      return [
        { text: DRAW, values: [ticketOf(claim)] },
        { text: LOOK, values: look },
      ];
    }
    return [
      { text: DRAW_BOTH, values: [ticketOf(claim), thingTicketOf(claim, thing)] },
      { text: LOOK_FOR_THING, values: [...look, thing] },
    ];
  }
  const values = claimValues(claim, holdMs);
  const [atOnce, waiting] =
    thing === undefined ? [CLAIM_AT_ONCE, CLAIM_WAITING] : [CLAIM_THING_AT_ONCE, CLAIM_THING_WAITING];
  const whole = thing === undefined ? values : [...values, ...thingValues(claim, thing)];
  if (claim.waitMs <= 0) return [{ text: atOnce, values: whole }];
  return [{ text: waiting, values: [...whole, lockTimeout(claim.waitMs)], mayWait: true }];
}

type Inserted = Omit<Claimed, 'isWritten'>;
type Looked = { isFree: boolean; isReadOnly: boolean; claimedAtMs: number };

/**
 * Returns the claim, or nothing where a row or another's claim is in the way, or the key outside its window.
 *
 * @throws the server's own error (25006) in a transaction that may not write: before the handler finds out
 */
export function readClaim(claim: Claim, [row]: Rows): Claimed | undefined {
  if (!row) return undefined;
  if (!('isFree' in (row as object))) return { ...(row as Inserted), isWritten: true };
  const { isFree, isReadOnly, claimedAtMs } = row as Looked;
  if (!isFree) return undefined;
  if (isReadOnly) throw readOnlyError();
  const expiresAtMs = Math.max(claimedAtMs, claim.mintedAt?.getTime() ?? 0) + claim.retentionMs;
  // Index entries share whole seconds. A row is never kept shorter than promised, nor claimed later than it was.
  return {
    claimedAtMs: Math.floor(claimedAtMs / 1000) * 1000,
    expiresAtMs: Math.ceil(expiresAtMs / 1000) * 1000,
    isWritten: false,
  };
}

/** How often a claim is tried again whose rival's row was gone before it could be read (C3). */
export const MAX_CLAIMS = 3;

/** The obstacle of a claim. `vanished`: a row that is gone again, so the claim may be tried once more. */
export type ClaimConflict = Obstacle | { kind: 'vanished' };

// A COMMIT of Prisma's may be behind it, and would keep a thing of which the key has a row without it.
const LET_GO = `
DELETE FROM idempotency_things
 WHERE ${IS_KEY} AND thing = $5 AND NOT EXISTS (SELECT FROM idempotency_keys WHERE ${IS_KEY} AND thing = $5)`;

/**
 * Reads the obstacle in a statement of its own: the one that waited for it cannot see it.
 *
 * @param looked the row of a claim that writes none. Of one that does there is none, and its thing is let go
 */
export async function findConflict(db: RawQueries, claim: Claim, [looked]: Rows = []): Promise<ClaimConflict> {
  if (claim.thing !== undefined && !looked) await db.$queryRawUnsafe(LET_GO, ...keyValues(claim), claim.thing);
  const obstacle = await findObstacle(db, claim);
  if (obstacle) return obstacle;
  const verdict = await judgeWindow(db, claim);
  if (verdict !== 'open') return { kind: verdict };
  return claim.waitMs > 0 ? { kind: 'vanished' } : { kind: 'locked' };
}
