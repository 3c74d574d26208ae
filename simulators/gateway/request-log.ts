import type { IncomingMessage } from 'node:http';
import type { FaultKind } from './faults.ts';
import { newId } from './stripe-objects.ts';

export interface LogEntry {
  /** Also the answer's `Request-Id`. */
  id: string;
  /** ISO 8601, when the request's head arrived. */
  at: string;
  method: string;
  path: string;
  idempotency_key: string | null;
  /** The answer; null while it is under way, and when the connection was broken instead. */
  status: number | null;
  fault: FaultKind | null;
  /** Answered from its idempotency key. */
  replayed: boolean;
}

const KEPT = 500;

/** The last 500 requests to the API. Entries are live: they change until the answer is out. */
export class RequestLog {
  #entries: LogEntry[] = [];

  open(req: IncomingMessage, now: number): LogEntry {
    const key = req.headers['idempotency-key'];
    const entry: LogEntry = {
      id: newId('req'),
      at: new Date(now).toISOString(),
      method: req.method ?? 'GET',
      path: req.url ?? '/',
      idempotency_key: typeof key === 'string' && key !== '' ? key : null,
      status: null,
      fault: null,
      replayed: false,
    };
    this.#entries.push(entry);
    if (this.#entries.length > KEPT) this.#entries.shift();
    return entry;
  }

  list(): readonly LogEntry[] {
    return this.#entries;
  }
}
