import type { FinishedCall, Leases } from '../../leases.ts';
import { sendStatement } from '../client.ts';
import type { Asked } from '../db.ts';
import { isNoRowsChanged } from '../errors.ts';
import { writeStatement } from './complete.ts';
import {
  assertHeld,
  hasNewProof,
  heldValues,
  IS_HELD,
  knownProofs,
  leaseLost,
  SET_LEASE,
  SET_LEASE_WITH_PROGRESS,
  writeAsSeen,
} from './lease.ts';
import { readSteps, STEP_COLUMNS } from './read.ts';

type Port = Leases<never>;

/** How many sends are known to have done nothing, before the next one: all of them where a person said "send it again". */
const NOT_EXECUTED = `CASE idempotency_phases.verdict WHEN 'retry' THEN idempotency_phases.sends
  ELSE idempotency_phases.not_executed END`;

/** Renews the lease in the statement of a write, which changes nothing where the key is no longer this executor's. */
const HELD = `held AS (UPDATE idempotency_keys SET ${SET_LEASE} WHERE ${IS_HELD} RETURNING 1)`;

// Committed before anything is sent: whoever finds the row knows that something may have happened, and what. A second
// send keeps the stored arguments and the stored key, and the time of the first, from which the provider's memory counts:
// unless all before it proved that nothing was done, or a person vouched for that, for then it is the first that the
// provider may remember. A person's verdict was of the time before it: left standing, it would have this send repeated,
// and charged twice. So was a refusal.
//
// Nothing is sent over a proof that the run does not know: see `putOff`.
const START = `
WITH seen AS MATERIALIZED (
  SELECT xmin AS version FROM idempotency_keys WHERE ${IS_HELD} AND NOT ${hasNewProof('$13')}),
held AS (
  UPDATE idempotency_keys SET ${SET_LEASE} FROM seen WHERE ${IS_HELD} AND idempotency_keys.xmin = version RETURNING 1)
INSERT INTO idempotency_phases (tenant, principal, operation, key, name, position, kind, state, arguments, derived_key,
                                fencing_token, sends, first_sent_at, last_sent_at, keys_until)
SELECT $1, $2, $3, $4, $8, $9::int, 'foreign', 'started', $10::bytea, $11, $6::int, 1, clock_timestamp(),
       clock_timestamp(), clock_timestamp() + nullif($12::float8, 0) * interval '1 ms'
  FROM held
ON CONFLICT (tenant, principal, operation, key, name) DO UPDATE
   SET sends = idempotency_phases.sends + 1, last_sent_at = clock_timestamp(), fencing_token = $6::int, verdict = NULL,
       result = NULL,
       not_executed = ${NOT_EXECUTED},
       first_sent_at = CASE WHEN idempotency_phases.sends > ${NOT_EXECUTED} THEN idempotency_phases.first_sent_at
                            ELSE EXCLUDED.first_sent_at END,
       keys_until = CASE WHEN idempotency_phases.sends > ${NOT_EXECUTED} THEN idempotency_phases.keys_until
                         ELSE EXCLUDED.keys_until END
 WHERE idempotency_phases.state = 'started'
RETURNING ${STEP_COLUMNS}`;

const startForeign: Asked<Port, 'startForeign'> = async (db, held, leaseMs, call) => {
  const { name, position, derivedKey, providerKeyTtlMs = 0 } = call;
  const values = [...heldValues(held), leaseMs, name, position, call.arguments, derivedKey, providerKeyTtlMs];
  return assertHeld(await readSteps(writeAsSeen(db, START, [...values, knownProofs(held)])), held);
};

/** How the result is known, and what is kept of it: parameters from `first` on, from `receiptValues`. What was proven stays without it. */
const setReceipt = (first: number) =>
  `known_by = $${first}::varchar, reference = coalesce($${first + 1}::varchar, reference), amount = $${first + 2}::varchar`;

const receiptValues = ({ knownBy, reference, amount }: Omit<Partial<FinishedCall>, 'result'>) =>
  [knownBy, reference, amount].map((value) => value ?? null);

const FINISH_FOREIGN = `
WITH held AS (
  UPDATE idempotency_keys SET ${SET_LEASE_WITH_PROGRESS}, recovery_point = $8::text WHERE ${IS_HELD} RETURNING 1)
UPDATE idempotency_phases
   SET state = 'done', result = $9, fencing_token = $6::int, finished_at = clock_timestamp(), ${setReceipt(10)}
  FROM held
 WHERE tenant = $1 AND principal = $2 AND operation = $3 AND key = $4 AND name = $8::text AND state = 'started'
RETURNING name`;

// Each send is counted before it leaves, so the difference is what may have arrived; an executor that dies before it can
// say what its send proved leaves the doubt behind.
const RECORD_NOT_EXECUTED = `
WITH ${HELD}
UPDATE idempotency_phases
   SET not_executed = CASE WHEN $9::boolean THEN sends ELSE not_executed + 1 END, result = $10::text
  FROM held
 WHERE tenant = $1 AND principal = $2 AND operation = $3 AND key = $4 AND name = $8::text AND state = 'started'
RETURNING name`;

const recordCapture: Asked<Port, 'recordCapture'> = async (db, held, leaseMs, step) => {
  await sendStatement(db, writeStatement(held, leaseMs, { steps: [{ ...step, kind: 'capture' }] })).catch((error) => {
    throw isNoRowsChanged(error) ? leaseLost(held) : error;
  });
};

const finishForeign: Asked<Port, 'finishForeign'> = async (db, held, leaseMs, step) => {
  const values = [...heldValues(held), leaseMs, step.name, step.result, ...receiptValues(step)];
  assertHeld(await db.$queryRawUnsafe<unknown[]>(FINISH_FOREIGN, ...values), held);
};

const recordNotExecuted: Asked<Port, 'recordNotExecuted'> = async (db, held, leaseMs, name, said) => {
  const values = [...heldValues(held), leaseMs, name, said?.coversAll ?? false, said?.refusal ?? null];
  assertHeld(await db.$queryRawUnsafe<unknown[]>(RECORD_NOT_EXECUTED, ...values), held);
};

// S4: compare-and-set on (state, token). It prevents this: the completer and a person find out at the same time, or a
// late answer comes in, and each goes on with a result of its own.
//
// A person's verdict stays until the call is sent again (`foreign-record.ts`): a run that ends before that leaves it to the
// next one.
const RESOLVE = `
WITH held AS (
  UPDATE idempotency_keys
     SET state = 'in_progress', fencing_token = fencing_token + 1,
         lease_until = clock_timestamp() + $7::float8 * interval '1 ms',
         next_attempt_at = greatest(CASE WHEN $9::text IS NULL THEN next_attempt_at END,
                                    clock_timestamp() + $7::float8 * interval '1 ms'),
         recovery_point = CASE WHEN $9::text IS NULL THEN recovery_point ELSE $8::text END
   WHERE ${IS_HELD}
  RETURNING fencing_token)
UPDATE idempotency_phases
   SET state = CASE WHEN $9::text IS NULL THEN 'started' ELSE 'done' END, result = $9::text,
       not_executed = ${NOT_EXECUTED},
       fencing_token = held.fencing_token, ${setReceipt(10)},
       finished_at = CASE WHEN $9::text IS NULL THEN NULL ELSE clock_timestamp() END
  FROM held
 WHERE tenant = $1 AND principal = $2 AND operation = $3 AND key = $4 AND name = $8::text
   AND idempotency_phases.state = 'started'
RETURNING held.fencing_token AS "fencingToken"`;

const resolve: Asked<Port, 'resolve'> = async (db, held, leaseMs, step) => {
  const values = [...heldValues(held), leaseMs, step.name, step.result, ...receiptValues(step)];
  const rows = await db.$queryRawUnsafe<{ fencingToken: number }[]>(RESOLVE, ...values);
  return { ...held, state: 'in_progress', fencingToken: assertHeld(rows, held).fencingToken };
};

export const stepQuestions = { startForeign, recordCapture, finishForeign, recordNotExecuted, resolve };
