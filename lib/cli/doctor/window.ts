import { type Duration, toMs } from '../../core/options.ts';
import type { SetUp } from '../../engine/config.ts';
import { epochMs, mintedAtOf, type RawRow } from '../../store/prisma/keys/read.ts';
import { callAt, withoutComments } from '../app/source-text.ts';
import type { Queryable } from '../database.ts';
import { checkNamed, type Finding } from './finding.ts';

const HOUR_MS = 3_600_000;
const MARGIN_MS = 15 * 60_000;

/** How long keys are taken, and how long their rows are kept. */
type Window = Pick<SetUp, 'windowMs' | 'retentionMs'>;

/**
 * Reads the call of `createIdempotency`, where it has plain strings and numbers; the kit's defaults for what it
 * leaves out. undefined where it is worked out elsewhere.
 */
export function readWindow(source: string): Window | undefined {
  const text = withoutComments(source);
  const call = callAt(text, 'createIdempotency');
  if (call === undefined) return undefined;
  const [window, retention] = [saidOf('window', call), saidOf('retention', call)];
  if (window === 'unknown' || retention === 'unknown') return undefined;
  const windowMs = toMs(window ?? '24h', 'window');
  return { windowMs, retentionMs: toMs(retention ?? windowMs + HOUR_MS, 'retention') };
}

function saidOf(name: string, call: string): Duration | 'unknown' | undefined {
  const [, value] = new RegExp(`(?<![\\w.])${name}\\s*:\\s*([^,\\n}]+)`).exec(call) ?? [];
  if (value === undefined) return new RegExp(`(?<![\\w.])${name}\\s*[,}]`).test(call) ? 'unknown' : undefined;
  const [, , text, number] = /^(?:(['"`])(\d+(?:\.\d+)?(?:ms|s|m|h|d))\1|(\d[\d_]*))$/.exec(value.trim()) ?? [];
  if (text === undefined && number === undefined) return 'unknown';
  return (text ?? Number(number?.replaceAll('_', ''))) as Duration;
}

// The newest and those that go first. Rows of operations in phases are kept longer, which does not matter here.
const COLUMNS = `key, secret_id AS "secretId", ${epochMs('minted_at')} AS "mintedAt", ${epochMs('claimed_at')} AS "claimedAt",
  ${epochMs('expires_at')} AS "expiresAt"`;
const KEPT = `(SELECT ${COLUMNS} FROM idempotency_keys ORDER BY claimed_at DESC LIMIT 1000)
  UNION ALL
  (SELECT ${COLUMNS} FROM idempotency_keys WHERE expires_at > clock_timestamp() ORDER BY expires_at LIMIT 1000)`;

type KeptRow = Pick<RawRow, 'key' | 'secretId' | 'mintedAt' | 'claimedAt' | 'expiresAt'>;

/**
 * Checks that every row outlives the time in which its key may come again (K5). A window that was raised together with
 * the retention, or before it, leaves rows behind that go too early.
 */
export async function checkWindow(sql: Queryable, window: Window | 'unreadable'): Promise<Finding> {
  const check = checkNamed('Window');
  if (window === 'unreadable') {
    return check.warning(
      'How long keys are taken cannot be read from the set-up.',
      "Write `window` and `retention` as plain strings: '24h'.",
    );
  }
  const { windowMs, retentionMs } = window;
  const says = `Keys are taken for ${hours(windowMs)} and kept for ${hours(retentionMs)}.`;
  if (retentionMs < windowMs + MARGIN_MS) {
    return check.problem(says, 'Raise `retention` to the window plus 15 min at least.');
  }
  const rows: KeptRow[] = (await sql.query(KEPT)).rows;
  const kept = rows.map((row) => row.expiresAt - Math.max(row.claimedAt, mintedAtOf(row)?.getTime() ?? 0));
  const shortest = Math.min(...kept);
  const hasForeign = rows.some((row) => mintedAtOf(row) === null);
  if (shortest < windowMs + MARGIN_MS - 1000) {
    const safe = Math.max(1, Math.floor((shortest - MARGIN_MS) / HOUR_MS));
    return check.problem(
      `${says} But some rows are kept for ${hours(shortest)} only: their keys could run twice.`,
      `Put the window back to ${safe} h, raise the retention, and raise the window when the old window has passed.`,
    );
  }
  if (hasForeign && retentionMs < 24 * HOUR_MS) {
    return check.warning(
      `${says} Clients send keys of their own, which are only known for that long.`,
      'Raise `retention` above the time for which they try again, which often is a day.',
    );
  }
  return check.ok(hasForeign ? `${says} Clients with keys of their own must not try again for longer.` : says);
}

function hours(ms: number): string {
  const minutes = Math.round(ms / 60_000);
  return minutes % 60 === 0 ? `${minutes / 60} h` : `${minutes} min`;
}
