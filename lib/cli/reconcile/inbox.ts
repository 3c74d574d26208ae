import type pg from 'pg';
import { errorLine } from '../../core/printable.ts';
import { epochMs, withDates } from '../../store/prisma/keys/read.ts';
import { CliError, UsageError } from '../command.ts';
import { isCutShort, withDatabase, withoutPassword } from '../database.ts';

/** An event that a consumer has received, and that an intent announced: its id says so (a UUID of version 8). */
export interface ConsumerEvent {
  id: string;
  source: string;
  receivedAt: Date;
}

/** Narrows the events of a consumer that are read. */
interface EventFilter {
  source: string | undefined;
  since: Date;
}

/**
 * The address of a consumer's database. With a password it must come from a variable: everybody on this machine can read the
 * arguments of a process.
 *
 * @param said the variable's name, or an address without a password
 * @throws UsageError for any other
 */
export function inboxAddress(said: string, env: Readonly<Record<string, string | undefined>> = process.env): string {
  const fix = 'Put the address into a variable, and say its name: --inbox CONSUMER_URL.';
  if (/^\w+$/.test(said)) {
    const address = env[said];
    if (address) return address;
    throw new UsageError(`--inbox names the variable ${said}, which is not set.`, fix);
  }
  if (!hasPassword(said)) return said;
  throw new UsageError(
    '--inbox has a password, which everybody on this machine can read in the list of processes.',
    fix,
  );
}

/** True also for an address that cannot be read, which may have one. */
function hasPassword(address: string): boolean {
  // As `pg` reads it: `@/` has no host, which URL does not take.
  const readable = address.replace('@/', '@socket/');
  if (isCutShort(address) || !URL.canParse(readable, 'postgres://base')) return true;
  const { password, searchParams } = new URL(readable, 'postgres://base');
  return password !== '' || [...searchParams.keys()].some((name) => /password/i.test(name));
}

const PAGE = 1000;

const RECEIVED = `
SELECT event_id AS id, source, ${epochMs('received_at')} AS "receivedAt" FROM inbox_events
 WHERE received_at >= $1::timestamptz AND ($2::text IS NULL OR source = $2)
   AND event_id ~ '^[0-9a-f]{8}-[0-9a-f]{4}-8[0-9a-f]{3}-[89ab][0-9a-f]{3}-[0-9a-f]{12}$'
   AND (source, event_id) > ($3::text, $4::text)
 ORDER BY source, event_id LIMIT ${PAGE}`;

/**
 * The events of these inboxes that the app's outbox does not know, each once. What it has delivered it deletes after its
 * retention, so older ones are not to be asked about.
 *
 * @param urls of the consumers' databases
 * @throws CliError where one of them cannot be read
 */
export async function findOrphans(
  urls: readonly string[],
  filter: EventFilter,
  knownEvents: (ids: readonly string[]) => Promise<string[]>,
): Promise<ConsumerEvent[]> {
  const unknown = new Map<string, ConsumerEvent>();
  for (const url of urls) for (const event of await readInbox(url, filter)) unknown.set(event.id, event);
  const ids = [...unknown.keys()];
  for (let at = 0; at < ids.length; at += PAGE) {
    for (const id of await knownEvents(ids.slice(at, at + PAGE))) unknown.delete(id);
  }
  return [...unknown.values()];
}

/** Reads what a consumer has received, in a transaction that may write nothing. */
async function readInbox(url: string, filter: EventFilter): Promise<ConsumerEvent[]> {
  const read = (sql: pg.Client) =>
    readEvents(sql, filter).catch((error) => {
      throw new CliError(
        `The inbox at ${withoutPassword(url)} cannot be read: ${errorLine(error)}.`,
        'Name a database with the table inbox_events, and a role that may read it.',
      );
    });
  return await withDatabase(url, read, '--inbox');
}

async function readEvents(sql: pg.Client, { source, since }: EventFilter): Promise<ConsumerEvent[]> {
  await sql.query('BEGIN READ ONLY');
  const events: ConsumerEvent[] = [];
  for (;;) {
    const last = events.at(-1);
    const values = [since.toISOString(), source ?? null, last?.source ?? '', last?.id ?? ''];
    const read = sql.query(RECEIVED, values).then(({ rows }) => rows);
    const rows = await withDates<ConsumerEvent>(read, 'receivedAt');
    events.push(...rows);
    if (rows.length < PAGE) return events;
  }
}
