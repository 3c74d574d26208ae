import { RELAY_TASK } from '../store/messages.ts';
import { type LoopOptions, loop } from './loop.ts';
import type { Figures, Messaging } from './passes.ts';
import type { Tasks } from './tasks.ts';

interface RelayLoops extends Pick<LoopOptions, 'everyMs' | 'stopping' | 'log'> {
  breakingOff: AbortSignal;
  tell: (task: string, figures: Figures) => void;
}

/**
 * A loop for each destination, so that one that is down or slow holds up no other, and the job that wakes them. The job
 * itself sends nothing: it would keep a place of the runner for as long as a destination takes, and a killed worker
 * would keep the job.
 */
export function relayLoops(outbox: Messaging['outbox'], options: RelayLoops): { loops: Promise<void>[]; tasks: Tasks } {
  if (!outbox) return { loops: [], tasks: {} };
  const relays = outbox.destinations.map((destination) => startRelay(outbox, destination, options));
  void warnUnknownDestinations(outbox, options.log);
  const wakeAll = async () => {
    for (const { wake } of relays) wake.send();
  };
  return { loops: relays.map(({ ended }) => ended), tasks: { [RELAY_TASK]: wakeAll } };
}

function startRelay(
  outbox: NonNullable<Messaging['outbox']>,
  destination: string,
  { everyMs, stopping, breakingOff, log, tell }: RelayLoops,
): { ended: Promise<void>; wake: WakeSignal } {
  const wake = new WakeSignal();
  const how = { destination, until: stopping, signal: breakingOff };
  const pass = async () => tell(`relay to ${destination}`, { ...(await outbox.relayDue(how)) });
  const wait = (ms: number, stop: AbortSignal) => wake.wait(ms, stop);
  // A pass takes as long as its slowest answer; another one meanwhile sends what has come since.
  const ended = loop({ name: `The relay to ${destination}`, everyMs, concurrentPasses: 2, pass, wait, stopping, log });
  return { ended, wake };
}

/** Nobody sends what waits for a destination that has left the configuration, and nothing else would say so. */
async function warnUnknownDestinations(
  { destinations, open }: NonNullable<Messaging['outbox']>,
  log: (line: string) => void,
): Promise<void> {
  const waiting = (await open?.().catch(() => undefined)) ?? [];
  const unknown = new Set(waiting.map(({ peer }) => peer).filter((peer) => !destinations.includes(peer)));
  for (const peer of unknown) {
    log(`Events wait for ${peer}, which is no destination here. Configure it again, or give them up: outbox.abandon.`);
  }
}

/**
 * Cuts one wait short: a look takes all that is there, and a second one would find nothing. A signal that is sent while
 * nobody waits is kept for the next wait, so a worker that was busy then looks again before it rests, and overlooks nothing
 * that was announced before the signal.
 */
export class WakeSignal {
  #isSet = false;
  readonly #waiting = new Set<() => void>();

  send(): void {
    const [wake] = this.#waiting;
    if (wake) wake();
    else this.#isSet = true;
  }

  /** Resolves after `ms`, at a signal, or when `stopping` is aborted. */
  wait(ms: number, stopping: AbortSignal): Promise<void> {
    if (this.#isSet || stopping.aborted) {
      this.#isSet = false;
      return Promise.resolve();
    }
    return new Promise((resolve) => {
      // By hand, not by AbortSignal.any: on Node 20 that leaks one signal per wait for as long as the worker lives.
      const wake = () => {
        clearTimeout(timer);
        this.#waiting.delete(wake);
        stopping.removeEventListener('abort', wake);
        resolve();
      };
      const timer = setTimeout(wake, ms);
      this.#waiting.add(wake);
      stopping.addEventListener('abort', wake);
    });
  }
}
