import { errorLine } from '../core/printable.ts';
import { settleWithin, sleep, untilAborted } from '../core/wait.ts';

const CAP_MS = 5000;

export interface LoopOptions {
  /** The loop's name in the log. */
  name: string;
  /** From the end of one pass to the beginning of the next. */
  everyMs: number;
  /** How many passes may run at once, each in a rhythm of its own: a long one then holds up no other. */
  concurrentPasses?: number;
  /** The next pass begins without waiting for one that takes longer than the rhythm. */
  overlaps?: boolean;
  /** The longest wait after failures; `everyMs` where that is longer. */
  capMs?: number;
  /** May call `works` early, when it takes long and has got over what failed before. */
  pass: (works: () => void) => Promise<void>;
  stopping: AbortSignal;
  log: (line: string) => void;
  wait?: (ms: number, stopping: AbortSignal) => Promise<void>;
  /** Between 0 and 1. */
  random?: () => number;
}

/**
 * Runs a pass again and again until `stopping`; never rejects. A failing pass (the database is away) is tried ever more
 * slowly and goes on by itself; it is logged once, however long that takes, and once more when it works again.
 */
export async function loop(options: LoopOptions): Promise<void> {
  const { name, everyMs, concurrentPasses = 1, overlaps = false, capMs = CAP_MS, pass, stopping, log } = options;
  const { wait = sleep, random = Math.random } = options;
  let failures = 0;
  const works = () => {
    if (failures > 0) log(`${name} works again.`);
    failures = 0;
  };
  const attempt = async () => {
    try {
      await pass(works);
      works();
    } catch (error) {
      // Aborted by shutdown, not a failure: do not log it.
      if (stopping.aborted) return;
      failures++;
      if (failures === 1) log(`${name} fails and is tried again until it works: ${errorLine(error)}`);
    }
  };
  const running = new Set<Promise<void>>();
  const repeat = async () => {
    while (!stopping.aborted) {
      const attempted = attempt().finally(() => running.delete(attempted));
      running.add(attempted);
      await (overlaps ? firstOf(attempted, everyMs, stopping) : attempted);
      if (stopping.aborted) break;
      const ms = Math.min(everyMs * 2 ** failures, Math.max(everyMs, capMs));
      // Without jitter, workers that a deploy started together would ask the database in step for ever.
      await wait(ms * (0.75 + random() / 2), stopping);
    }
  };
  await Promise.all(Array.from({ length: concurrentPasses }, repeat));
  await Promise.all(running);
}

/** Resolves with the pass, or after `ms`, or when the signal is aborted. */
async function firstOf(attempted: Promise<void>, ms: number, stopping: AbortSignal): Promise<void> {
  const settled = () => settleWithin(attempted, ms, () => {}, { keepsAlive: false });
  await untilAborted(stopping, settled).catch(() => {});
}
