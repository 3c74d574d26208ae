import { LeaseLostError } from '../../../core/errors.ts';
import type { KeyId } from '../../../core/scope.ts';
import type { HeldKey, LeasedClaim, Leases, PutOff } from '../../leases.ts';
import { type RawQueries, sendStatement } from '../client.ts';
import type { Asked } from '../db.ts';
import { LEVEL, type Statement } from '../statement.ts';
import { claimValues, claimWaiting, idleLimit, thingValues } from './claim.ts';
import { findSteps, KEY_COLUMNS, keyValues, NOW, type RawRow, toKeyRow } from './read.ts';
import { drawTicket, drawTickets, lockTimeout } from './ticket.ts';

/** The key's row as its executor knows it: parameters 1 to 6, from `heldValues`. */
export const IS_HELD = `tenant = $1 AND principal = $2 AND operation = $3 AND key = $4 AND state = $5
   AND fencing_token = $6::int`;

const LEASE_END = `clock_timestamp() + $7::float8 * interval '1 ms'`;
const PROLONGED = `lease_until = CASE state WHEN 'in_progress' THEN ${LEASE_END} END`;

/**
 * The lease that a write of the executor renews: parameter 7. An unknown key has no lease, only a turn to be asked. A look
 * that was put off ahead of the run (`postpone`) stays put off: who renews a lease may be about to die of what killed the
 * runs before it.
 */
export const SET_LEASE = `
  ${PROLONGED}, next_attempt_at = greatest(next_attempt_at, ${LEASE_END})`;

/** The same with a write that gets the key further: should the run die now, the completer comes with the lease's end. */
export const SET_LEASE_WITH_PROGRESS = `
  ${PROLONGED}, next_attempt_at = ${LEASE_END}`;

// The session setting ends with the transaction. It is for the executor that goes silent inside one, its machine paused
// or its cable cut: the server ends the transaction, and with it the lock that keeps others from taking the key over.
const RENEW = `
UPDATE idempotency_keys SET ${SET_LEASE} WHERE ${IS_HELD}
RETURNING set_config('idle_in_transaction_session_timeout', $8, true) AS bounded, ${LEVEL}`;

export function heldValues({ id, state, fencingToken }: HeldKey): unknown[] {
  return [...keyValues(id), state, fencingToken];
}

/**
 * Renews the lease, and in a transaction locks the key's row until its end. False: somebody else has the key.
 *
 * As a transaction's first statement it prevents this: an executor that has been overtaken takes business locks, and
 * the one that may write waits for them. And while the row is locked, nobody overtakes (`takeOver` skips it).
 *
 * @param idleMs how long the transaction may be idle before the server ends it
 */
export async function renew(db: RawQueries, held: HeldKey, leaseMs: number, idleMs: number): Promise<boolean> {
  return (await sendStatement(db, renewStatement(held, leaseMs, idleMs))).length > 0;
}

/** The same, to be sent with BEGIN: a row, or none where somebody else has the key. */
export function renewStatement(held: HeldKey, leaseMs: number, idleMs: number): Statement {
  return { text: RENEW, values: [...heldValues(held), leaseMs, idleLimit(idleMs)], mayWait: true };
}

/** @throws LeaseLostError unless there is a row: what the statement should have changed is no longer this executor's */
export function assertHeld<Row>(rows: readonly Row[], held: HeldKey): Row {
  if (rows[0] !== undefined) return rows[0];
  throw leaseLost(held);
}

export function leaseLost({ state, fencingToken, id }: Pick<HeldKey, 'state' | 'fencingToken' | 'id'>): LeaseLostError {
  return new LeaseLostError(
    `${id.operation} ${id.key} was taken over, or something heard has ended this run: nothing was written.`,
    {
      existing: 'another state or fencing token',
      expected: `${state} with fencing token ${fencingToken}`,
    },
  );
}

// The same insert, ticket and window as a claim in one transaction (`claim.ts`), with a lease besides, which says for how
// long the claim counts once it is committed: the work behind it lies partly outside the database. The completer looks at
// it when the lease is over. The statement itself puts `lock_timeout` back, for phases with locks of their own follow.
const lease = {
  columns: ', lease_until, next_attempt_at, input, fencing_token',
  values: `,
       clock_timestamp() + $17::float8 * interval '1 ms', clock_timestamp() + $17::float8 * interval '1 ms', $18::bytea,
       $19::int`,
};

const BEGIN = claimWaiting('$15', drawTicket('$12', '$16'), { lease });
const BEGIN_WITH_THING = claimWaiting('$15', drawTickets('$12', '$22', '$16'), { lease, thing: ['$20', '$21'] });

/** The claim of a key with a lease: a row, or none where another one is in the way. */
export function beginStatement(claim: LeasedClaim, idleMs: number): Statement {
  const { waitMs, leaseMs, input, firstToken } = claim;
  const mayWait = waitMs > 0;
  const values = [...claimValues(claim, idleMs), lockTimeout(waitMs), mayWait, leaseMs, input, firstToken];
  if (claim.thing === undefined) return { text: BEGIN, values, mayWait };
  return { text: BEGIN_WITH_THING, values: [...values, ...thingValues(claim, claim.thing)], mayWait };
}

/** The key as it is for the executor that has just claimed it. */
export function claimedHeld(claim: LeasedClaim): HeldKey {
  const { tenant, principal, operation, key, firstToken, schemaVersion, input, traceParent = null } = claim;
  return {
    id: { tenant, principal, operation, key },
    state: 'in_progress',
    fencingToken: firstToken,
    attempts: 1,
    needsAttention: false,
    schemaVersion,
    input,
    traceParent,
    steps: [],
  };
}

type Taken = KeyId & Omit<HeldKey, 'id' | 'steps'>;

// A higher token for a key in progress, so that its old executor's next write changes nothing; by a step that is drawn, for a
// takeover may be lost in a failover, and made again by another. An unknown key keeps its
// token, for it is only asked about; whoever asks is alone until `next_attempt_at`, and the first to find out wins.
//
// FOR UPDATE SKIP LOCKED: of many completers and retries at once one takes a key, and none waits. It also skips a key
// whose executor is inside a transaction, which holds the row: it is slow, not dead. The lock re-checks the condition
// on the newest version of the row, so a lease that was renewed a moment ago is seen.
const take = (due: string, counts: string, of = '') => `
WITH due AS MATERIALIZED (${due})
UPDATE idempotency_keys
   SET fencing_token = CASE state WHEN 'in_progress' THEN fencing_token + 1 + floor(random() * 1000)::int ELSE fencing_token END,
       attempts = attempts + CASE WHEN ${counts} THEN 1 ELSE 0 END,
       lease_until = CASE state WHEN 'in_progress' THEN clock_timestamp() + $1::float8 * interval '1 ms' END,
       next_attempt_at = clock_timestamp() + $1::float8 * interval '1 ms'
 WHERE (tenant, principal, operation, key) IN (SELECT tenant, principal, operation, key FROM due)${of}
RETURNING tenant, principal, operation, key, state, fencing_token AS "fencingToken", attempts,
          schema_version AS "schemaVersion", input, trace_parent AS "traceParent", needs_attention AS "needsAttention"`;

const IS_WANTED = 'tenant = $2 AND principal = $3 AND operation = $4 AND key = $5';

// A client that retries ahead of the pause does not use up what the completer is given.
const TAKE_ONE = take(
  `SELECT tenant, principal, operation, key FROM idempotency_keys
   WHERE ${IS_WANTED}
     AND ((state = 'in_progress' AND lease_until <= clock_timestamp()
           AND ($6::boolean OR next_attempt_at <= clock_timestamp()))
          OR (state = 'unknown' AND next_attempt_at <= clock_timestamp()))
     FOR UPDATE SKIP LOCKED`,
  'NOT $6::boolean',
  // Said once more: tables that are distributed find the row by what a statement names, not by what another found.
  ` AND ${IS_WANTED}`,
);

// Each operation by itself: a thousand keys of one, which wait for a provider that is slow, stand before none of another.
const TAKE_DUE = take(
  `SELECT k.* FROM unnest($2::text[], $3::int[]) AS share(wanted, most) CROSS JOIN LATERAL (
    SELECT tenant, principal, operation, key FROM idempotency_keys
     WHERE next_attempt_at IS NOT NULL AND next_attempt_at <= clock_timestamp() AND operation = wanted
       AND (state = 'unknown' OR lease_until <= clock_timestamp())
     ORDER BY next_attempt_at LIMIT most
       FOR UPDATE SKIP LOCKED) AS k`,
  'true',
);

const takeOver: Asked<Leases<never>, 'takeOver'> = async (db, id, leaseMs, early) => {
  const rows = await db.$queryRawUnsafe<Taken[]>(TAKE_ONE, leaseMs, ...keyValues(id), early);
  return rows[0] && (await heldOf(db, rows[0]));
};

const takeDue: Asked<Leases<never>, 'takeDue'> = async (db, shares, leaseMs) => {
  const operations = shares.map(({ operation }) => operation);
  const limits = shares.map(({ most }) => most);
  const rows = await db.$queryRawUnsafe<Taken[]>(TAKE_DUE, leaseMs, operations, limits);
  const taken: HeldKey[] = [];
  for (const row of rows) taken.push(await heldOf(db, row));
  return taken;
};

/** Read behind the take, in a statement of its own: from there on the old executor writes no step any more. */
async function heldOf(db: RawQueries, row: Taken): Promise<HeldKey> {
  const { tenant, principal, operation, key, ...held } = row;
  const id = { tenant, principal, operation, key };
  return { id, ...held, steps: await findSteps(db, id) };
}

/**
 * Tells in SQL whether a begun call of the key has a proof that its executor does not know.
 *
 * @param known the place of the parameter from `knownProofs`
 */
export const hasNewProof = (known: string) => `EXISTS (
  SELECT FROM idempotency_phases AS begun
   WHERE begun.tenant = $1 AND begun.principal = $2 AND begun.operation = $3 AND begun.key = $4
     AND begun.state = 'started' AND begun.reference IS NOT NULL AND begun.reference <> ALL (${known}::text[]))`;

export const knownProofs = ({ steps }: HeldKey) =>
  steps.flatMap(({ state, reference }) => (state === 'started' && reference) || []);

// The flag stays until the key settles or a person has looked: the completer goes on meanwhile. A key that the completer
// is not to look at again is always flagged, or nobody would ever see it.
//
// Unless a proof was heard since the run has begun, which it does not know: then it is due at once. That is read as of the statement's
// beginning, so it counts only where nobody has written the key's row since, as whoever hears something does: see `VERDICT`.
const putOff = (besides: string, returned = 'needs_attention AS "needsAttention"') => `
WITH seen AS MATERIALIZED (
  SELECT xmin AS version, ${hasNewProof('$9')} AS is_proven FROM idempotency_keys WHERE ${IS_HELD})
UPDATE idempotency_keys
   SET ${besides} next_attempt_at = CASE WHEN is_proven THEN ${NOW} ELSE clock_timestamp() + $7::float8 * interval '1 ms' END,
       needs_attention = needs_attention OR NOT is_proven AND ($7::float8 IS NULL
         OR claimed_at <= clock_timestamp() - $8::float8 * interval '1 ms')
  FROM seen
 WHERE ${IS_HELD} AND idempotency_keys.xmin = version
RETURNING ${returned}`;

// The lease ends now, so that a client's retry need not wait for it; the completer comes after the pause. The higher token
// prevents this: a write that was under way when the run was let go (a captured value that came late, a renewal) arrives
// behind this one, and leases the key to nobody.
const SUSPEND = putOff(
  `fencing_token = fencing_token + 1, lease_until = CASE state WHEN 'in_progress' THEN ${NOW} END,`,
);

const POSTPONE = putOff('');

const UNKNOWN = putOff(`state = 'unknown', lease_until = NULL,`, KEY_COLUMNS);

const suspend = puttingOff(SUSPEND);
const postpone = puttingOff(POSTPONE);

function puttingOff(statement: string) {
  return async (db: RawQueries, held: HeldKey, put: PutOff): Promise<boolean> =>
    (await putAsSeen<{ needsAttention: boolean }>(db, statement, held, put)).needsAttention;
}

const markUnknown: Asked<Leases<never>, 'markUnknown'> = async (db, held, { askAfterMs, attentionAfterMs }) =>
  toKeyRow(await putAsSeen<RawRow>(db, UNKNOWN, held, { pauseMs: askAfterMs, attentionAfterMs }));

/** How often a statement that compares the row's version is sent, where others write the row at that moment. */
const TRIES = 5;

/** Sends a statement that compares the row's version until nobody has written the row meanwhile. */
export async function writeAsSeen<Row>(db: RawQueries, statement: string, values: unknown[]): Promise<Row[]> {
  let rows: Row[] = [];
  for (let tries = 0; !rows[0] && tries < TRIES; tries++) rows = await db.$queryRawUnsafe<Row[]>(statement, ...values);
  return rows;
}

async function putAsSeen<Row>(db: RawQueries, statement: string, held: HeldKey, put: PutOff): Promise<Row> {
  const values = [...heldValues(held), put.pauseMs, put.attentionAfterMs, knownProofs(held)];
  return assertHeld(await writeAsSeen<Row>(db, statement, values), held);
}

export const leaseQuestions = { takeOver, takeDue, suspend, postpone, markUnknown };
