import { UNFINISHED_KEYS, WAITS_FOR_PERSON } from '../../store/prisma/keys/list.ts';
import type { Sql } from '../database.ts';
import { checkNamed, counted, type Finding } from './finding.ts';

/** Longer than a worker lets anything wait that is due, and than a cron job of each minute. */
const DUE_S = 120;
/** Longer than from one call of a cron job that reaps to the next. */
const UNREAPED_H = 26;
const SEEN_S = 90;

export interface WorkOptions {
  hasMessaging: boolean;
  /** The app has operations in phases, or an outbox or inbox. */
  needsWorker: boolean;
  /** Something calls the cron route, as far as files tell. */
  hasCron: boolean;
}

const KEYS = `SELECT
  (SELECT count(*)::int FROM idempotency_keys
    WHERE next_attempt_at < clock_timestamp() - interval '${DUE_S} s') AS due,
  (SELECT count(*)::int FROM ${UNFINISHED_KEYS} WHERE ${WAITS_FOR_PERSON}) AS attention,
  (SELECT count(*)::int FROM ${UNFINISHED_KEYS} WHERE needs_attention AND NOT ${WAITS_FOR_PERSON}) AS slow,
  (SELECT count(*)::int FROM (SELECT FROM idempotency_keys
    WHERE expires_at < clock_timestamp() - interval '${UNREAPED_H} h' AND settled_at IS NOT NULL LIMIT 10000) AS looked) AS unreaped`;

// Only what stands first in its aggregate can go out, and nothing to a destination that is stopped.
const MESSAGES = `SELECT
  (SELECT count(*)::int FROM outbox_deliveries d
    WHERE state = 'pending' AND next_attempt_at < clock_timestamp() - interval '${DUE_S} s'
      AND NOT EXISTS (SELECT FROM outbox_stops s WHERE s.destination = d.destination)
      AND NOT EXISTS (SELECT FROM outbox_deliveries e WHERE e.destination = d.destination AND e.aggregate = d.aggregate
                        AND e.sequence < d.sequence AND e.state IN ('pending', 'dead'))) AS unsent,
  (SELECT count(*)::int FROM inbox_events
    WHERE state = 'failed' AND next_attempt_at < clock_timestamp() - interval '${DUE_S} s') AS unprocessed,
  (SELECT count(*)::int FROM outbox_deliveries WHERE state = 'dead')
    + (SELECT count(*)::int FROM inbox_events WHERE state = 'dead') AS dead`;

// Statements of a worker's that no request makes, on connections that are open: its presence, and what the completer and
// the reaper ask. A cron call leaves the same behind.
const SEEN = `SELECT EXTRACT(epoch FROM clock_timestamp() - max(state_change))::int AS seconds FROM pg_stat_activity
  WHERE datname = current_database() AND pid <> pg_backend_pid()
    AND (query LIKE '%oncekit.worker %' OR query LIKE '%idempotency_keys%SKIP LOCKED%')`;

/** Checks that a worker does what is due, by its traces, and by what is overdue. */
export async function checkWork(sql: Sql, options: WorkOptions): Promise<Finding[]> {
  const check = checkNamed('Worker');
  const { due, slow, attention, unreaped } = (await sql.query(KEYS)).rows[0];
  const messages = options.hasMessaging ? (await sql.query(MESSAGES)).rows[0] : { unsent: 0, unprocessed: 0, dead: 0 };
  const findings: Finding[] = [];
  const run = (pass: string) => `Run npx oncekit worker, or call /api/cron/${pass} each minute.`;
  const left = (count: number, what: string, pass: string) => {
    if (count > 0)
      findings.push(check.problem(`${counted(count, what)} should have gone on more than 2 min ago.`, run(pass)));
  };
  left(due, 'unfinished key', 'complete');
  left(messages.unsent, 'event of the outbox', 'relay');
  left(messages.unprocessed, 'received event', 'inbox');
  if (unreaped > 0) {
    const some = unreaped === 10_000 ? '10,000 keys and more' : counted(unreaped, 'key');
    findings.push(check.warning(`${some} should have been deleted a day ago.`, run('reap').replace('minute', 'hour')));
  }
  if (findings.length === 0) findings.push(await checkSeen(sql, options));
  if (attention > 0) {
    const says = `${counted(attention, 'key')} could not be finished and ${attention === 1 ? 'waits' : 'wait'} for a person.`;
    findings.push(checkNamed('Attention').warning(says, 'Look at them: npx oncekit keys list --stuck'));
  }
  if (slow > 0) {
    const says = `${counted(slow, 'key')} could not be finished for long. The completer goes on with ${slow === 1 ? 'it' : 'them'}.`;
    findings.push(checkNamed('Attention').warning(says, 'See what they wait for: npx oncekit keys list --stuck'));
  }
  if (messages.dead > 0) {
    const says = `${counted(messages.dead, 'event')} could not be delivered or processed.`;
    findings.push(checkNamed('Attention').warning(says, 'Mend the cause, then requeue them in the admin view.'));
  }
  return findings;
}

async function checkSeen(sql: Sql, { needsWorker, hasCron }: WorkOptions): Promise<Finding> {
  const check = checkNamed('Worker');
  const { seconds } = (await sql.query(SEEN)).rows[0];
  if (seconds !== null && seconds <= SEEN_S) return check.ok(`One was seen ${seconds} s ago, and nothing is late.`);
  if (hasCron) return check.ok('None is seen, but a cron job is set up, and nothing is late.');
  if (!needsWorker) {
    return check.ok('None is seen. Nothing is late: only the reaper is missing, which deletes old keys.');
  }
  return check.warning(
    'None was seen in the last 90 s. Nothing is late yet, but a key whose process dies would wait for its client.',
    'Run npx oncekit worker, or call /api/cron/complete each minute.',
  );
}
