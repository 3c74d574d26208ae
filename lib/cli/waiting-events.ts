import { closeDatabase, openDatabase } from './database.ts';

const WAITING = "SELECT count(*)::int AS waiting FROM outbox_deliveries WHERE state = 'pending'";

/**
 * A warning about events that wait in the outbox, for a worker that was given none to send them by: the app makes it where its text
 * does not show it, or does not make it any more. Undefined where none wait, and where the database cannot be asked.
 */
export async function waitingEvents(connectionString: string): Promise<{ says: string; fix: string } | undefined> {
  const sql = await openDatabase(connectionString).catch(() => undefined);
  if (!sql) return undefined;
  try {
    // An app without messages has no such table.
    const { rows } = await sql.query(WAITING).catch(() => ({ rows: [{ waiting: 0 }] }));
    const { waiting } = rows[0] as { waiting: number };
    if (waiting === 0) return undefined;
    return {
      says: `${waiting === 1 ? 'An event waits' : `${waiting} events wait`} in the outbox, and no module of the app exports one, so this worker does not send them.`,
      fix: 'Write in lib/messaging.ts: export const outbox = createOutbox({ … });',
    };
  } finally {
    await closeDatabase(sql);
  }
}
