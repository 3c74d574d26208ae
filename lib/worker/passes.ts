import { everyOne } from '../core/batches.ts';
import type { Idempotency } from '../engine/idempotency.ts';
import type { Completed } from '../engine/phases/completer.ts';
import type { Inbox, Retried } from '../messaging/inbox.ts';
import type { Outbox } from '../messaging/prisma.ts';
import type { Relayed } from '../messaging/relay.ts';

/**
 * Everything that a worker drives: `createIdempotency`'s result, and where the app has them its outbox and inbox:
 * `{ ...idempotency, outbox, inbox }`.
 */
export type Driven = Keys & Messaging;

export type Keys = Pick<Idempotency<never>, 'completeDue' | 'reap'> &
  Partial<Pick<Idempotency<never>, 'readSchema' | 'errorPages'>>;

/** Events that a worker ships and retries besides its keys. */
export interface Messaging {
  outbox?: (Pick<Outbox, 'destinations' | 'relayDue' | 'reap'> & Partial<Pick<Outbox, 'open'>>) | undefined;
  inbox?: Pick<Inbox<never>, 'retryDue' | 'reap'> | undefined;
}

/** How one pass is ended early, and how much it takes. */
export interface PassOptions {
  /** Take nothing more; what is running goes on. */
  until?: AbortSignal;
  /** Break off what is running, too; another pass goes on with it. */
  signal?: AbortSignal;
  /** Keys of each operation that the completer drives at once. */
  limit?: number;
}

/** The figures of a pass, for a log line or a cron job's answer. */
export type Figures = Record<string, number>;

const LIMIT = 20;

/**
 * The completer, once: drives on every key that is due, batch after batch, until none is left or `until` says to stop.
 * A batch that got nowhere ends it, too: what failed for all of them is not mended by trying at once.
 */
export async function complete(idempotency: Driven, options: PassOptions = {}): Promise<Completed & Figures> {
  const { until, signal, limit = LIMIT } = options;
  const sum = { taken: 0, settled: 0, unknown: 0, unfinished: 0 };
  while (!until?.aborted && !signal?.aborted) {
    const batch = await idempotency.completeDue({ limit, ...(signal ? { signal } : {}) });
    for (const figure of Object.keys(sum) as (keyof Completed)[]) sum[figure] += batch[figure];
    if (batch.unfinished >= batch.taken) break;
  }
  return sum;
}

/**
 * The reaper, once: deletes settled keys, and events sent and received, past their retention until none is left. Stops
 * between two batches. Each goes on by itself, whatever becomes of the others.
 *
 * @throws what has failed, in the end: of several an AggregateError, unless the database cannot be asked
 */
export async function reap(driven: Driven, { until, signal }: PassOptions = {}): Promise<{ deleted: number }> {
  const how = { signal: AbortSignal.any([until, signal].filter((one) => one !== undefined)) };
  let deleted = 0;
  const reapBy = (from: Pick<Driven, 'reap'> | undefined) => async () => {
    const count = (await from?.reap(how)) ?? 0;
    deleted += count; // behind the wait: the others count meanwhile
  };
  await everyOne(reapBy(driven), reapBy(driven.outbox), reapBy(driven.inbox));
  return { deleted };
}

/** The relay, once: sends every event that is due, until none is or `until` says to stop. */
export async function relay(driven: Driven, options: PassOptions = {}): Promise<Relayed & Figures> {
  return { delivered: 0, failed: 0, dead: 0, unfinished: 0, ...(await driven.outbox?.relayDue(options)) };
}

/** Runs received events again that failed and are due, once, until none is or `until` says to stop. */
export async function inbox(driven: Driven, { until, signal }: PassOptions = {}): Promise<Retried & Figures> {
  return { taken: 0, processed: 0, failed: 0, dead: 0, ...(await driven.inbox?.retryDue({ until, signal })) };
}

/** Everything that can be run once, by the name under which the command line and the cron route know it. */
export const PASSES: Readonly<Record<string, Pass>> = { complete, reap, relay, inbox };

type Pass = (idempotency: Driven, options?: PassOptions) => Promise<Figures>;

/** A pass needs these besides keys. Without them there is nothing to do, for ever: the caller is told. */
export const NEEDS: Readonly<Record<string, 'outbox' | 'inbox'>> = { relay: 'outbox', inbox: 'inbox' };

/** One line: `complete: 3 taken, 2 settled, 1 unknown, 0 unfinished`. */
export function line(task: string, figures: Figures): string {
  const counts = Object.entries(figures).map(([figure, count]) => `${count} ${figure}`);
  return `${task}: ${counts.join(', ')}`;
}
