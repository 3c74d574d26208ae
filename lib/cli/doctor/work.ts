import { NO_WORKER_AFTER_MS } from '../../core/lease.ts';
import { hasNoWorker, OPEN_KEYS, WAITS_FOR_PERSON } from '../../store/prisma/keys/list.ts';
import type { Queryable } from '../database.ts';
import { counted } from '../table.ts';
import type { AppFacts } from './app.ts';
import { checkNamed, type Finding } from './finding.ts';

/** Longer than a worker lets anything wait that is due, and than a cron job of each minute. */
const DUE_S = 120;
/** Longer than from one call of a cron job that reaps to the next. */
const UNREAPED_H = 26;
const SEEN_S = 90;

interface WorkOptions
  extends Pick<AppFacts, 'hasPhases' | 'destinations' | 'hasInbox' | 'handled' | 'called' | 'operations'> {
  /** The tables of messaging are there. */
  hasMessaging: boolean;
}

const KEYS = `SELECT
  (SELECT coalesce(json_object_agg(operation, due), '{}')
     FROM (SELECT operation, count(*) AS due FROM idempotency_keys
            WHERE next_attempt_at < clock_timestamp() - interval '${DUE_S} s' GROUP BY operation) AS late) AS due,
  (SELECT coalesce(json_agg(DISTINCT operation), '[]') FROM idempotency_keys
    WHERE ${hasNoWorker(String(NO_WORKER_AFTER_MS))}) AS "withoutWorker",
  (SELECT count(*)::int FROM ${OPEN_KEYS} WHERE ${WAITS_FOR_PERSON}) AS attention,
  (SELECT count(*)::int FROM ${OPEN_KEYS}
    WHERE needs_attention AND next_attempt_at >= clock_timestamp() - interval '${DUE_S} s' AND NOT ${WAITS_FOR_PERSON}) AS slow,
  (SELECT count(*)::int FROM (SELECT FROM idempotency_keys
    WHERE expires_at < clock_timestamp() - interval '${UNREAPED_H} h' AND settled_at IS NOT NULL AND NOT needs_attention LIMIT 10000) AS looked) AS unreaped`;

// Only what stands first in its aggregate can go out, and nothing to a destination that is stopped.
const MESSAGES = `SELECT
  (SELECT coalesce(json_object_agg(destination, late), '{}') FROM (SELECT destination, count(*) AS late FROM outbox_deliveries d
    WHERE state = 'pending' AND next_attempt_at < clock_timestamp() - interval '${DUE_S} s'
      AND NOT EXISTS (SELECT FROM outbox_stops s WHERE s.destination = d.destination)
      AND NOT EXISTS (SELECT FROM outbox_deliveries e WHERE e.destination = d.destination AND e.aggregate = d.aggregate
                        AND e.sequence < d.sequence AND e.state IN ('pending', 'dead'))
    GROUP BY destination) AS waiting) AS unsent,
  (SELECT coalesce(json_object_agg(source, late), '{}') FROM (SELECT source, count(*) AS late FROM inbox_events
    WHERE state = 'failed' AND payload IS NOT NULL AND next_attempt_at < clock_timestamp() - interval '${DUE_S} s'
    GROUP BY source) AS waiting) AS unprocessed,
  (SELECT coalesce(json_object_agg(source, open), '{}') FROM (SELECT source, count(*) AS open FROM inbox_events
    WHERE state IN ('failed', 'dead') AND payload IS NOT NULL GROUP BY source) AS kept) AS kept,
  (SELECT count(*)::int FROM outbox_deliveries WHERE state = 'dead') AS dead_out,
  (SELECT count(*)::int FROM inbox_events WHERE state = 'dead') AS dead_in`;

// Statements of a worker's that no request makes, on connections that are open: its presence, and what the completer and
// the reaper ask. A cron call leaves the same behind.
const SEEN = `SELECT EXTRACT(epoch FROM clock_timestamp() - max(state_change))::int AS seconds FROM pg_stat_activity
  WHERE datname = current_database() AND pid <> pg_backend_pid()
    AND (query LIKE '%oncekit.worker %' OR query LIKE '%idempotency_keys%SKIP LOCKED%')`;

/** Checks that a worker does what is due, by its traces, and by what is overdue. */
export async function checkWork(sql: Queryable, options: WorkOptions): Promise<Finding[]> {
  const check = checkNamed('Worker');
  const { due, withoutWorker, slow, attention, unreaped } = (await sql.query(KEYS)).rows[0];
  const { seconds } = (await sql.query(SEEN)).rows[0];
  const nothing = { unsent: {}, unprocessed: {}, kept: {}, dead_out: 0, dead_in: 0 };
  const messages = options.hasMessaging ? (await sql.query(MESSAGES)).rows[0] : nothing;
  const findings: Finding[] = [];
  const run = (pass: string) => `Run npx oncekit worker, or call /api/cron/${pass} each minute.`;
  const left = (count: number, what: string, pass: string) => {
    if (count > 0)
      findings.push(check.problem(`${counted(count, what)} should have gone on more than 2 min ago.`, run(pass)));
  };
  const { operations, destinations = [], handled } = options;
  const keys = split(due, operations);
  for (const [name, count] of keys.unknown) findings.push(check.problem(...ofNoOperation(name, count)));
  // A worker is there, and lets them lie: to run another one is no help.
  const isPassedOver = ([name]: [string, number]) => isRecent(seconds) && withoutWorker.includes(name);
  for (const [name, count] of keys.known.filter(isPassedOver)) findings.push(check.problem(...ofNoWorker(name, count)));
  left(sum(keys.known.filter((each) => !isPassedOver(each))), 'unfinished key', 'complete');
  // An app that could not be loaded, or has no outbox here, may have one elsewhere.
  const events = split(messages.unsent, destinations.length > 0 ? destinations : undefined);
  left(sum(events.known), 'event of the outbox', 'relay');
  for (const [name, count] of events.unknown) findings.push(check.problem(...toNoDestination(name, count)));
  left(sum(split(messages.unprocessed, handled).known), 'received event', 'inbox');
  for (const [name, count] of split(messages.kept, handled).unknown)
    findings.push(check.problem(...byNobody(name, count)));
  if (unreaped > 0) {
    const some = unreaped === 10_000 ? '10,000 keys and more' : counted(unreaped, 'key');
    findings.push(check.warning(`${some} should have been deleted a day ago.`, run('reap').replace('minute', 'hour')));
  }
  if (findings.length === 0) findings.push(checkSeen(seconds, options));
  return [...findings, ...checkAttention({ attention, slow, ...messages })];
}

/** How many are of each name that the app has, and of each other. */
function split(counts: Record<string, number>, names: readonly string[] | undefined) {
  const all = Object.entries(counts);
  const isKnown = ([name]: [string, number]) => names?.includes(name) ?? true;
  return { known: all.filter(isKnown), unknown: all.filter((each) => !isKnown(each)) };
}

const sum = (counts: [string, number][]) => counts.reduce((total, [, count]) => total + count, 0);
const isRecent = (seconds: number | null) => seconds !== null && seconds <= SEEN_S;

/** Says what is wrong where so many are of a name, and what to do. */
type Fault = (name: string, count: number) => [says: string, fix: string];

const ofNoOperation: Fault = (name, count) => [
  `${counted(count, 'unfinished key')} of ${name} ${count === 1 ? 'waits' : 'wait'} for an operation of that name, and none is listed.`,
  `List ${name} in lib/operations.ts again, or at last where .as('${name}') has made it; a worker then goes on.`,
];

const ofNoWorker: Fault = (name, count) => [
  `${counted(count, 'unfinished key')} of ${name} ${count === 1 ? 'has' : 'have'} been due for over an hour, and the worker that runs does not know the operation.`,
  `Import the module that defines ${name} where that worker or cron route starts.`,
];

const toNoDestination: Fault = (name, count) => [
  `${counted(count, 'event')} ${count === 1 ? 'waits' : 'wait'} for ${name}, a destination that the outbox does not have.`,
  `Give it back to the outbox, or give them up: npx oncekit messages abandon ${name} --yes`,
];

const byNobody: Fault = (name, count) => [
  `${counted(count, 'received event')} of ${name} ${count === 1 ? 'is' : 'are'} kept to be run again, and the inbox has no \`handle\` for ${name}.`,
  `Give the source a \`handle\` in createInbox: sources: { ${name}: { handle } }`,
];

type Counts = Record<'attention' | 'slow' | 'dead_out' | 'dead_in', number>;

function checkAttention({ attention, slow, dead_out: unsent, dead_in: unprocessed }: Counts): Finding[] {
  const check = checkNamed('Attention');
  const person = `${counted(attention, 'key')} ${attention === 1 ? 'waits' : 'wait'} for a person.`;
  const late = `${counted(slow, 'key')} could not be finished for long. The completer goes on with ${slow === 1 ? 'it' : 'them'}.`;
  const deadIn = (box: string) =>
    `Mend the cause, then: npx oncekit messages list --box ${box} --state dead, and npx oncekit messages requeue`;
  const all: [count: number, says: string, fix: string][] = [
    [attention, person, 'Look at them: npx oncekit keys list --stuck'],
    [slow, late, 'See what they wait for: npx oncekit keys list --stuck'],
    [unsent, `${counted(unsent, 'event')} could not be delivered.`, deadIn('outbox')],
    [unprocessed, `${counted(unprocessed, 'event')} could not be processed.`, deadIn('inbox')],
  ];
  return all.flatMap(([count, says, fix]) => (count > 0 ? check.warning(says, fix) : []));
}

/** The loss where nobody runs a pass. */
const LOSSES = {
  complete: 'a key whose process dies would wait for its client',
  relay: 'nobody sends the events of the outbox',
  inbox: 'nobody tries again what the inbox could not process',
};

function checkSeen(seconds: number | null, options: WorkOptions): Finding {
  const { hasPhases, destinations = [], hasInbox, called = [] } = options;
  const check = checkNamed('Worker');
  if (isRecent(seconds)) return check.ok(`One was seen ${seconds} s ago, and nothing is late.`);
  const isNeeded = { complete: hasPhases, relay: destinations.length > 0, inbox: hasInbox };
  const needed = (Object.keys(LOSSES) as (keyof typeof LOSSES)[]).filter((pass) => isNeeded[pass]);
  const lacking = needed.filter((pass) => !called.includes(pass));
  if (lacking.length > 0) {
    const routes = lacking.map((pass) => `/api/cron/${pass}`);
    return check.warning(
      `No worker was seen in the last 90 s, and nothing calls ${routes.join(' or ')}: ${lacking.map((pass) => LOSSES[pass]).join(', and ')}.`,
      `Run npx oncekit worker, or have vercel.json call ${routes.join(' and ')} each minute.`,
    );
  }
  if (called.length > 0) return check.ok('None is seen, but vercel.json calls the cron route, and nothing is late.');
  return check.ok('None is seen. Nothing is late: only the reaper is missing, which deletes old keys.');
}
