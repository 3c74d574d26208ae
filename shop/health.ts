import { setTimeout as sleep } from 'node:timers/promises';
import { db } from './db.ts';

/** Written into the build by next.config.ts: the migrations that this build was made for. */
const needed = (process.env.ONCEKIT_MIGRATIONS ?? '').split(',').filter(Boolean);

const PATIENCE_MS = 3000;

/** Tells whether the database answers and has every migration that this build needs. Never throws, never hangs. */
export async function isHealthy(): Promise<boolean> {
  const inTime = new AbortController();
  const patience = sleep(PATIENCE_MS, false, { signal: inTime.signal, ref: false }).catch(() => false);
  try {
    return await Promise.race([isMigrated(), patience]);
  } catch {
    return false;
  } finally {
    inTime.abort();
  }
}

async function isMigrated(): Promise<boolean> {
  const rows = await db().$queryRaw<{ name: string }[]>`
    SELECT migration_name AS name FROM _prisma_migrations WHERE finished_at IS NOT NULL AND rolled_back_at IS NULL`;
  const applied = new Set(rows.map(({ name }) => name));
  return needed.every((name) => applied.has(name));
}
