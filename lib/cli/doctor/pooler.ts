import type pg from 'pg';
import { CliError } from '../command.ts';
import { withDatabase } from '../database.ts';
import { checkNamed, type Finding } from './finding.ts';

type Mode = 'direct' | 'session' | 'transaction';

/**
 * How a connection reaches its server. A pooler tells its clients of a process that no server has. In transaction mode it
 * gives a server that is idle to somebody else, which is then seen to have been ours.
 */
async function modeOf(sql: pg.Client, url: string): Promise<Mode> {
  const pid = async (client: pg.Client) => (await client.query('SELECT pg_backend_pid() AS pid')).rows[0].pid as number;
  const ours = await pid(sql);
  if (ours === (sql as { processID?: number | null }).processID) return 'direct';
  return await withDatabase(url, async (other) => {
    await other.query('BEGIN');
    // One that must wait for a server has none of its own.
    const isShared = (await pid(other)) === ours || (await pid(sql).catch(() => undefined)) !== ours;
    await other.query('COMMIT');
    return isShared ? 'transaction' : 'session';
  });
}

/** The app may go through any pooler. A worker that runs jobs or a relay keeps a lock of its session and listens. */
export async function checkPooler(sql: pg.Client, url: string, directUrl: string | undefined): Promise<Finding> {
  const check = checkNamed('Pooler');
  const mode = await modeOf(sql, url);
  if (mode !== 'transaction' && !directUrl) {
    return check.ok(mode === 'direct' ? 'None: DATABASE_URL leads straight to PostgreSQL.' : 'One in session mode.');
  }
  const app =
    mode === 'transaction' ? 'DATABASE_URL goes through a pooler in transaction mode' : 'DATABASE_URL is direct';
  if (!directUrl) {
    return check.warning(
      `${app}: fine for the app, but a worker can neither listen nor keep a lock there.`,
      'Give the worker a DIRECT_URL that leads straight to PostgreSQL.',
    );
  }
  try {
    const direct = await withDatabase(directUrl, (other) => modeOf(other, directUrl), 'DIRECT_URL');
    if (direct !== 'transaction') return check.ok(`${app}; the worker takes DIRECT_URL.`);
  } catch (error) {
    if (!(error instanceof CliError)) throw error;
    return check.problem(error.message, error.fix ?? '');
  }
  return check.problem(
    'DIRECT_URL goes through a pooler in transaction mode, too.',
    "Write PostgreSQL's own host and port.",
  );
}
