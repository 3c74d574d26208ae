import type { LogEntry } from './request-log.ts';

/** The app's answer to a request that arrived late. Nobody hears it but who asks the proxy. */
export interface LateAnswer {
  /** The request's number in the log. */
  id: number;
  /** Null: the app broke off, or is down. */
  status: number | null;
  body: string;
}

/** Brings a request to the app, and resolves with the answer's body. */
type Deliver = () => Promise<string>;

/** The requests that are still under way though their clients have gone. Each arrives once, or never. */
export class LateRequests {
  #held = new Map<LogEntry, Deliver>();

  /** Holds a request back until `release`; with `ms`, no longer than that many milliseconds. */
  hold(entry: LogEntry, ms: number, deliver: Deliver): void {
    this.#held.set(entry, deliver);
    if (ms > 0) setTimeout(() => void this.#arrive(entry), ms).unref();
  }

  /** Lets all of them arrive at the same moment. Resolves when the app has answered each, oldest first. */
  async release(): Promise<LateAnswer[]> {
    const arriving = [...this.#held.keys()].map((entry) => this.#arrive(entry));
    return (await Promise.all(arriving)).filter((answer) => answer !== undefined);
  }

  /** They are lost after all. */
  drop(): void {
    this.#held.clear();
  }

  async #arrive(entry: LogEntry): Promise<LateAnswer | undefined> {
    const deliver = this.#held.get(entry);
    if (!deliver) return undefined; // arrived already, or dropped
    this.#held.delete(entry);
    const body = await deliver().catch(() => '');
    return { id: entry.id, status: entry.status, body };
  }
}
