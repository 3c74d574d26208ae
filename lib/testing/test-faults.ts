import type { Code } from '../core/codes.ts';
import { executedBy, type Outcome, type Refusal, refuse } from '../core/outcome.ts';
import { type Arrival, mintTestKey, proofOf } from './test-keys.ts';

/** Has the server deal with an attempt. `whileRunning` comes between the claim and the handler. */
export type Serve<R> = (arrival: Arrival, whileRunning?: () => Promise<void>) => Promise<Outcome<R>>;

/** The fate of one attempt. */
export type Fault = <R>(arrival: Arrival, serve: Serve<R>) => Promise<Outcome<R>>;

/** An attempt that waits where `hold` has stopped it. */
export interface Held {
  /** Resolves when an attempt has come that far. */
  readonly reached: Promise<void>;
  /** Lets it go on. */
  release(): void;
  /** Lets it go on, but the browser hears nothing of it. What is held at `request` never comes to the server. */
  lose(): void;
}

/** On its way to the server, while it runs, or when it is done, before its answer. */
export type HoldingPoint = 'request' | 'run' | 'answer';

export const lostRequest: Fault = () => Promise.reject(disconnected());

export const lostAnswer: Fault = async (arrival, serve) => {
  await serve(arrival).catch(() => {}); // a redirect is lost as well
  throw disconnected();
};

export function refusal(code: Code, details: Partial<Omit<Refusal, 'ok' | 'code'>> = {}): Fault {
  return async (arrival) => {
    const executed = executedBy(code === 'key_invalid' ? 'none' : proofOf(arrival));
    return refuse(code, { executed, key: arrival.key, nextKey: mintTestKey(), ...details });
  };
}

export function holding(point: HoldingPoint): { fault: Fault; held: Held } {
  let reach = () => {};
  let end = (_: 'released' | 'lost') => {};
  const reached = new Promise<void>((resolve) => (reach = resolve));
  const ended = new Promise<'released' | 'lost'>((resolve) => (end = resolve));
  let isReached = false; // a replay never runs
  const stop = async () => {
    isReached = true;
    reach();
    await ended;
  };
  const fault: Fault = async (arrival, serve) => {
    if (point === 'request') {
      await stop();
      if ((await ended) === 'lost') throw disconnected();
    }
    const answer = serve(arrival, point === 'run' ? stop : undefined);
    await answer.catch(() => {}); // thrown below, unless it is lost
    if (point === 'answer') await stop();
    if (isReached && (await ended) === 'lost') throw disconnected();
    return await answer;
  };
  return { fault, held: { reached, release: () => end('released'), lose: () => end('lost') } };
}

/** The error that `fetch` rejects with when the connection breaks. */
export function disconnected(): TypeError {
  return new TypeError('Failed to fetch');
}
