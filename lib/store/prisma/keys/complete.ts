import type { HeldKey, Write } from '../../leases.ts';
import type { Claim, Completion, KeyRow } from '../../rows.ts';
import type { Rows, Statement } from '../statement.ts';
import { timestamp } from '../wire/encoding.ts';
import { type Claimed, holdThing } from './claim.ts';
import { hasNewProof, heldValues, IS_HELD, knownProofs, SET_LEASE, SET_LEASE_WITH_PROGRESS } from './lease.ts';
import { epochMs, IS_KEY, KEY_COLUMNS, keyValues, signedAt } from './read.ts';
import { TICKET } from './ticket.ts';

/** The token of a row that has just been inserted. */
export const FIRST_TOKEN = 1;

// The state and the token it leaves are named: an executor that was overtaken, or that completes twice, changes
// nothing. It also fails in a transaction that an earlier error has aborted, where COMMIT alone would quietly roll back and
// look like a success.
const COMPLETE = `
UPDATE idempotency_keys SET state = $6, result = $7, settled_at = clock_timestamp()
 WHERE ${IS_KEY} AND state = 'in_progress' AND fencing_token = $5::int
RETURNING ${epochMs('settled_at')} AS "settledAtMs"`;

// COMMIT may be behind it on the wire already, so that nothing was changed must be an error, which makes COMMIT roll back:
// the division by the number of rows is one where there is none.
const COMPLETE_OR_FAIL = `
WITH completed AS (${COMPLETE})
SELECT max("settledAtMs") AS "settledAtMs", 1 / count(*) AS one FROM completed`;

// The whole row of a claim that has written none. It fails, and with it the COMMIT behind it, where a row is there after all
// (there is no ON CONFLICT), and in another transaction than the one that drew the ticket: a handler that has ended that one
// must not get a key without its effect. A count of what was written would cost a quarter more.
const write = (thing?: string, held = '') => `${held}
INSERT INTO idempotency_keys (tenant, principal, operation, key, state, fingerprint, fingerprint_version, secret_id,
                              schema_version, minted_at, claimed_at, settled_at, expires_at, trace_parent, result,
                              fencing_token${thing ? ', thing' : ''})
VALUES ($1, $2, $3, $4, $5, $6::bytea, $7::smallint, $8, $9::int, $10::timestamptz, $11::timestamptz,
        greatest(clock_timestamp(), $11::timestamptz), $12::timestamptz, $13, $14,
        CASE WHEN current_setting('${TICKET}', true) = 'drawn' THEN '${FIRST_TOKEN}' ELSE 'no ticket' END::int${thing ? `, ${thing}` : ''})
RETURNING ${epochMs('settled_at')} AS "settledAtMs"`;

const WRITE = write();
/** The same with the thing. Fails where that is held. A refusal in one transaction holds none: nothing was done outside. */
const WRITE_WITH_THING = write('$15', `\nWITH held AS (${holdThing(['$15', '$16'])})`);

/** Stores the answer with the effect, at the end of the transaction that claimed the key. */
export function completionStatement(claim: Claim, claimed: Claimed, { state, result }: Completion): Statement {
  if (claimed.isWritten) {
    const values = [...keyValues(claim), FIRST_TOKEN, state, result];
    return { text: COMPLETE_OR_FAIL, alone: COMPLETE, values };
  }
  const { mintedAt, schemaVersion, traceParent = null } = claim;
  const { hash, version, secretId } = claim.fingerprint;
  const isSaid = signedAt(claim.key, secretId)?.getTime() === mintedAt?.getTime();
  const times = [isSaid ? null : mintedAt, new Date(claimed.claimedAtMs), new Date(claimed.expiresAtMs)];
  const sealed = [hash, version, secretId, schemaVersion, ...times.map((at) => at && timestamp(at))];
  const values = [...keyValues(claim), state, ...sealed, traceParent, result];
  if (claim.thing === undefined || state === 'failed') return { text: WRITE, values };
  return { text: WRITE_WITH_THING, values: [...values, claim.thing, claim.holdsForever ?? false] };
}

/** The row as it was committed. */
export function completedRow(claim: Claim, claimed: Claimed, { state, result }: Completion, last: Rows): KeyRow {
  const { tenant, principal, operation, key, fingerprint, schemaVersion, mintedAt, traceParent = null } = claim;
  const [{ settledAtMs }] = last as readonly [{ settledAtMs: number }];
  return {
    tenant,
    principal,
    operation,
    key,
    state,
    fencingToken: FIRST_TOKEN,
    attempts: 1,
    fingerprint,
    result,
    schemaVersion,
    mintedAt,
    claimedAt: new Date(claimed.claimedAtMs),
    settledAt: new Date(settledAtMs),
    expiresAt: new Date(claimed.expiresAtMs),
    leaseUntil: null,
    nextAttemptAt: null,
    recoveryPoint: null,
    needsAttention: false,
    traceParent,
  };
}

// A second reference of a call, also that of its receipt where a proof has named another before; or a result that came too late for
// its send, of a call that has no other. Of none a person has said since that it failed: a refusal contradicts the result. What comes behind this finds the key settled, and flags it itself
// (`evidence.ts`).
const IS_CONTRADICTED = `EXISTS (
  SELECT FROM idempotency_events AS heard JOIN idempotency_phases AS step USING (tenant, principal, operation, key)
   WHERE ${IS_KEY} AND step.name = heard.detail ->> 'step' AND step.verdict IS DISTINCT FROM 'failed'
     AND (heard.type = 'contradicted'
          OR heard.type IN ('evidence', 'late_answer') AND step.state = 'done' AND heard.detail ->> 'reference' <> step.reference
          OR heard.type = 'late_answer' AND heard.detail ->> 'said' = 'result' AND step.state = 'started'))`;

/**
 * All that a transaction of the executor writes of the key, in one statement under the token, which fails where the key is
 * no longer this executor's: COMMIT may be behind it on the wire. It returns a `RawRow` where it settles the key.
 *
 * The recovery point is the last atomic phase: of a captured value, or a call that has begun, nothing is finished yet. The
 * insert fails on a step that is there already, which no run with the right token can reach.
 */
export function writeStatement(held: HeldKey, leaseMs: number, { steps = [], start, settle }: Write): Statement {
  const values: unknown[] = heldValues(held);
  const $ = (value: unknown) => `$${values.push(value)}`;
  const lease = settle ? undefined : values.push(leaseMs); // $7, as in lease.ts
  const phase = steps.findLast(({ kind }) => kind === 'atomic')?.name;
  const sets: string[] = [];
  if (settle) {
    // Input, arguments and results of steps were kept so that the key could be finished. It is. The version is that of
    // the executor that finishes it. A key that settles late is kept for another day: who asks then must find its answer.
    sets.push(`state = ${$(settle.state)}, result = ${$(settle.result)}, schema_version = ${$(settle.schemaVersion)}::int,
      settled_at = clock_timestamp(), lease_until = NULL, next_attempt_at = NULL, input = NULL,
      needs_attention = ${settle.uncompensated ? 'true' : IS_CONTRADICTED}, expires_at = greatest(expires_at, clock_timestamp() + interval '24 h')`);
  }
  if (lease) sets.push(steps.length > 0 ? SET_LEASE_WITH_PROGRESS : SET_LEASE);
  if (phase !== undefined) sets.push(`recovery_point = ${$(phase)}::text`);
  // A refusal does not end what is proven meanwhile to be done: the next run acts upon that.
  const unless = settle?.state === 'failed' ? ` AND NOT ${hasNewProof($(knownProofs(held)))}` : '';
  const parts = [
    `changed AS (UPDATE idempotency_keys SET ${sets.join(', ')} WHERE ${IS_HELD}${unless}
     RETURNING ${settle ? KEY_COLUMNS : '1 AS held'})`,
  ];
  if (steps.length > 0) {
    const rows = steps.map(({ name, position, kind, result }) => {
      const stored = settle ? null : result;
      return `(${$(name)}::text, ${$(position)}::int, ${$(kind)}::text, ${$(stored)}::text)`;
    });
    parts.push(`
recorded AS (
  INSERT INTO idempotency_phases (tenant, principal, operation, key, name, position, kind, state, result, fencing_token,
                                  finished_at)
  SELECT $1, $2, $3, $4, s.name, s.position, s.kind, 'done', s.result, $6::int, clock_timestamp()
    FROM changed, (VALUES ${rows.join(', ')}) AS s (name, position, kind, result))`);
  }
  if (start) {
    // It names what its result will be written to: on tables without that nothing is sent, whose answer would be lost.
    const { name, position, derivedKey, providerKeyTtlMs = 0 } = start;
    parts.push(`
started AS (
  INSERT INTO idempotency_phases (tenant, principal, operation, key, name, position, kind, state, arguments, derived_key,
                                  fencing_token, sends, first_sent_at, last_sent_at, keys_until, known_by)
  SELECT $1, $2, $3, $4, ${$(name)}, ${$(position)}::int, 'foreign', 'started', ${$(start.arguments)}::bytea,
         ${$(derivedKey)}, $6::int, 1, clock_timestamp(), clock_timestamp(),
         clock_timestamp() + nullif(${$(providerKeyTtlMs)}::float8, 0) * interval '1 ms', NULL
    FROM changed)`);
  }
  if (settle) {
    // Of the steps that were there before; those of this statement are written without a result.
    const kept = settle.uncompensated?.steps.map($).join(', ');
    const result = kept === undefined ? 'NULL' : `CASE WHEN name IN (${kept}) THEN result END`;
    parts.push(`
erased AS (
  UPDATE idempotency_phases SET arguments = NULL, result = ${result}
   WHERE tenant = $1 AND principal = $2 AND operation = $3 AND key = $4 AND EXISTS (SELECT FROM changed))`);
  }
  if (settle?.uncompensated) {
    parts.push(`
flagged AS (
  INSERT INTO idempotency_events (tenant, principal, operation, key, type, actor, detail)
  SELECT $1, $2, $3, $4, 'needs_attention', 'executor', jsonb_build_object('why', ${$(settle.uncompensated.why)}::text)
    FROM changed)`);
  }
  const written = `\nWITH ${parts.join(',')}\n`;
  // Fails where nothing was changed: COMMIT may be behind it on the wire, and must roll back.
  const proven = `SELECT changed.* FROM (SELECT 1 / count(*) AS one FROM changed) AS proof LEFT JOIN changed ON proof.one = 1`;
  return { text: written + proven, alone: `${written}SELECT * FROM changed`, values };
}
