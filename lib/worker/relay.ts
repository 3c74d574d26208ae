import type { TaskList } from 'graphile-worker';
import { RELAY_TASK } from '../store/messages.ts';
import { loop, untilElapsed } from './loop.ts';
import type { Figures, Messaging } from './passes.ts';
import { Bell } from './wake-signal.ts';

/** A pass takes as long as its slowest answer; the other lane meanwhile sends what has come since. */
const LANES = 2;
const SHORT_LOOK_MS = 50;

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
  const restMs: number[] = [];
  const bells = outbox.destinations.map(() => new Bell());
  const loops = outbox.destinations.map((destination, n) =>
    loop({
      name: `The relay to ${destination}`,
      everyMs,
      lanes: LANES,
      pass: async () => {
        const began = performance.now();
        const relayed = await outbox.relayDue({ destination, until: stopping, signal: breakingOff });
        const found = Object.values(relayed).some((count) => count > 0);
        restMs[n] = found ? 0 : performance.now() - began;
        tell(`relay to ${destination}`, { ...relayed });
      },
      // A look that finds nothing has passed over all that is blocked or put off. Where that is very much, it rests as
      // long as it looked, however often it is woken: one half of the time at most.
      wait: async (ms, stop) => {
        const rest = restMs[n] ?? 0;
        if (rest > SHORT_LOOK_MS) await untilElapsed(rest, stop);
        await (bells[n] as Bell).wait(ms, stop);
      },
      stopping,
      log,
    }),
  );
  void tellOfStrangers(outbox, log);
  const ring = async () => {
    for (const bell of bells) bell.ring();
  };
  return { loops, tasks: { [RELAY_TASK]: ring } };
}

/** Nobody sends what waits for a destination that has left the configuration, and nothing else would say so. */
async function tellOfStrangers(
  { destinations, open }: NonNullable<Messaging['outbox']>,
  log: (line: string) => void,
): Promise<void> {
  const waiting = (await open?.().catch(() => undefined)) ?? [];
  const strangers = new Set(waiting.map(({ peer }) => peer).filter((peer) => !destinations.includes(peer)));
  for (const peer of strangers) {
    log(`Events wait for ${peer}, which is no destination here. Configure it again, or give them up: outbox.abandon.`);
  }
}
