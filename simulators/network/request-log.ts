import type { IncomingMessage } from 'node:http';
import type { Socket } from 'node:net';
import { type FaultKind, visitorOf } from './faults.ts';

/**
 * The end of a request, as the client saw it:
 * `answered` the app's whole answer reached it; `lost` its connection was broken without a whole answer;
 * `refused` the proxy answered in the app's place; `app-down` the app did not accept a connection, the client got 502;
 * `client-gone` the client left before its answer; `tunnelled` an upgraded connection; `pending` not over yet.
 */
export type Outcome = 'pending' | 'answered' | 'lost' | 'refused' | 'app-down' | 'client-gone' | 'tunnelled';

export interface LogEntry {
  id: number;
  /** ISO 8601, when the request's head arrived. */
  at: string;
  method: string;
  path: string;
  /** Whose it is, where the lab has marked its visitor. */
  visitor: string | null;
  fault: FaultKind | null;
  outcome: Outcome;
  /** The app's status (also of an answer that was lost) or the proxy's own; null when there was none. */
  status: number | null;
  /** When the app had the whole request, when it began to answer, and when all was over. ISO 8601; null: never. */
  atAppAt: string | null;
  fromAppAt: string | null;
  overAt: string | null;
  /** Number of the client's socket, and which request on it this was: shows whether a connection was reused. */
  connection: number;
  onConnection: number;
}

const KEPT = 1000;

/** The last 1,000 requests. Entries are live: they change until their outcome is known. */
export class RequestLog {
  #entries: LogEntry[] = [];
  #lastId = 0;
  #lastConnection = 0;
  #connections = new WeakMap<Socket, { connection: number; requests: number }>();

  open(req: IncomingMessage, fault: FaultKind | null): LogEntry {
    const socket = this.#connections.get(req.socket) ?? { connection: ++this.#lastConnection, requests: 0 };
    socket.requests += 1;
    this.#connections.set(req.socket, socket);
    const entry: LogEntry = {
      id: ++this.#lastId,
      at: new Date().toISOString(),
      method: req.method ?? 'GET',
      path: req.url ?? '/',
      visitor: visitorOf(req.headers.cookie),
      fault,
      outcome: 'pending',
      status: null,
      atAppAt: null,
      fromAppAt: null,
      overAt: null,
      connection: socket.connection,
      onConnection: socket.requests,
    };
    this.#entries.push(entry);
    if (this.#entries.length > KEPT) this.#entries.shift();
    return entry;
  }

  /** All of them, or one visitor's. */
  list(visitor?: string): readonly LogEntry[] {
    return visitor === undefined ? this.#entries : this.#entries.filter((entry) => entry.visitor === visitor);
  }

  /** Forgets the requests and counts from 1 again. Open connections keep their number: they are still the same. */
  clear(): void {
    this.#entries = [];
    this.#lastId = 0;
  }
}
