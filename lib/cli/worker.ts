import { startWorker } from '../worker/worker.ts';
import { databaseUrl, loadEnv } from './app/env.ts';
import { folderTree } from './app/file-tree.ts';
import { APP_HELP, APP_OPTIONS, loadApp } from './app/loader.ts';
import { unexportedBox } from './app/messaging-modules.ts';
import { type Command, readArgs, text, UsageError } from './command.ts';
import { withDatabase } from './database.ts';
import { stopOnSignal } from './stop-signal.ts';

const help = `oncekit worker

Finishes what others have begun, deletes what is past its retention, and sends and receives events where a module of the
app exports an outbox and an inbox. Any number of workers may run on one database. Ctrl-C or SIGTERM finishes what is running, a second
one ends at once. For job handlers of your own, start it in a module of yours instead: docs/worker.md.

  --grace <ms>          how long what is running may go on once it is stopped. Left out: 5000
${APP_HELP}

DIRECT_URL says which database, or DATABASE_URL where there is none. Not through a pooler in transaction mode.`;

async function run(args: string[]): Promise<number> {
  const { values } = readArgs(args, { grace: text, ...APP_OPTIONS });
  const graceMs = Number(values.grace ?? 5000);
  if (!(graceMs >= 0)) throw new UsageError(`--grace takes milliseconds, not "${values.grace}".`);
  const root = process.cwd();
  loadEnv(root);
  const connectionString = databaseUrl({ DATABASE_URL: process.env.DIRECT_URL || process.env.DATABASE_URL });
  const tree = folderTree(root);
  const { idempotency, outbox, inbox, operations } = await loadApp(root, tree, values);
  const worker = startWorker({ idempotency, outbox, inbox, connectionString, graceMs, log: console.log });
  stopOnSignal(() => void worker.stop());
  console.log(`The worker runs. Operations: ${operations.map(({ name }) => name).join(', ') || 'none'}`);
  if (outbox) console.log(`It sends events to: ${outbox.destinations.join(', ') || 'nobody yet'}`);
  const warnings = [
    outbox ? undefined : (unexportedBox(tree, 'outbox') ?? (await waitingEvents(connectionString))),
    inbox ? undefined : unexportedBox(tree, 'inbox'),
  ];
  for (const warning of warnings) if (warning) console.error(`${warning.says} Fix: ${warning.fix}`);
  await worker.ended;
  return 0;
}

const WAITING = "SELECT count(*)::int AS waiting FROM outbox_deliveries WHERE state = 'pending'";

/**
 * A warning about events that wait in the outbox, for a worker that was given none to send them by: the app makes it where its text
 * does not show it, or does not make it any more. Undefined where none wait, or the database cannot say: it may lack the table.
 */
async function waitingEvents(connectionString: string): Promise<{ says: string; fix: string } | undefined> {
  const answer = await withDatabase(connectionString, (sql) => sql.query(WAITING)).catch(() => undefined);
  const waiting: number = answer?.rows[0].waiting ?? 0;
  if (waiting === 0) return undefined;
  return {
    says: `${waiting === 1 ? 'An event waits' : `${waiting} events wait`} in the outbox, and no module of the app exports one, so this worker does not send them.`,
    fix: 'Write in lib/messaging.ts: export const outbox = createOutbox({ … });',
  };
}

export const worker: Command = { help, run };
