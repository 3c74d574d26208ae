import type { TaskList } from 'graphile-worker';
import { RELAY_TASK } from '../store/prisma/messages/enqueue.ts';
import { Bell } from './bell.ts';
import { loop } from './loop.ts';
import type { Figures, Messaging } from './passes.ts';

/** A pass takes as long as its slowest answer; the other lane meanwhile sends what has come since. */
const LANES = 2;

interface RelayLoops {
  everyMs: number;
  stopping: AbortSignal;
  breakingOff: AbortSignal;
  log: (line: string) => void;
  tell: (task: string, figures: Figures) => void;
}

/**
 * A loop for each destination, so that one that is down or slow holds up no other, and the job that wakes them. The job
 * itself sends nothing: it would keep a place of the runner for as long as a destination takes, and a killed worker
 * would keep the job.
 */
export function relayLoops(
  outbox: Messaging['outbox'],
  { everyMs, stopping, breakingOff, log, tell }: RelayLoops,
): { loops: Promise<void>[]; tasks: TaskList } {
  if (!outbox) return { loops: [], tasks: {} };
  const bells = outbox.destinations.map(() => new Bell());
  const loops = outbox.destinations.map((destination, n) =>
    loop({
      name: `The relay to ${destination}`,
      everyMs,
      lanes: LANES,
      pass: async () =>
        tell(`relay to ${destination}`, {
          ...(await outbox.relayDue({ destination, until: stopping, signal: breakingOff })),
        }),
      wait: (ms, stop) => (bells[n] as Bell).wait(ms, stop),
      stopping,
      log,
    }),
  );
  const ring = async () => {
    for (const bell of bells) bell.ring();
  };
  return { loops, tasks: { [RELAY_TASK]: ring } };
}
