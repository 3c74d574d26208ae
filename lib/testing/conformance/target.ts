import { mintKey } from '../../core/key.ts';
import type { Scope } from '../../core/scope.ts';
import { readSecrets } from '../../core/secrets.ts';

/** The endpoint that the conformance suite is run against. What is optional opens cases; without it they are left out. */
export interface ConformanceTarget {
  /** The address of the app: `http://127.0.0.1:3000`. */
  origin: string;
  /** The guarded method. Default `POST`. */
  method?: 'POST' | 'PATCH';
  /** The guarded path. */
  path: string;
  /** A body that is accepted, as JSON: an object with an integer somewhere in it. Each call of it may be sent once. */
  body(): JsonObject;
  /** Another body that is accepted. */
  otherBody(): JsonObject;
  /** Says who acts: `{ Authorization: 'Bearer …' }`. */
  headers: Readonly<Record<string, string>>;
  /** Says that somebody else acts. Without any such header nobody does, and that is 401. */
  otherHeaders?: Readonly<Record<string, string>>;
  /** Bodies for `otherHeaders`, where they differ. */
  bodyOfOther?(): JsonObject;
  /** A body that the schema refuses. */
  invalidBody?(): JsonObject;
  /** A body that the schema accepts and the operation refuses by `fail`, which stores the refusal. */
  refusedBody?(): JsonObject;
  /** Another path of the same operation, as the refunds of another order. `body()` is accepted there, too. */
  otherPath?: string;
  /** Another operation: keys are its own there. */
  otherOperation?: { path: string; body(): JsonObject };
  /** The path of the status route for a key. */
  statusPath?(key: string): string;
  /** A key that the app might have minted then, in milliseconds since the epoch, for `headers`: see `mintKeyAt`. */
  mintKey?(at: number): string;
  /** How many effects there are of this key, whoever sent it. */
  effects?(key: string): Promise<number>;
}

/** A body of a request, as JSON has it. */
export type JsonObject = Record<string, unknown>;

/**
 * A key as the app with this secret would have minted it then: for tests of keys that are too old, or from the future.
 *
 * @param at milliseconds since the epoch
 * @throws ConfigurationError for a secret under 32 characters
 */
export function mintKeyAt(at: number, scope: Scope, secret: string): string {
  return mintKey(at, scope, readSecrets([secret]).first);
}
