import { tryOr } from '../../core/errors.ts';
import { isKey } from '../../core/scope.ts';

/** The storage of keys. `localStorage` and `sessionStorage` fit as they are. */
export interface KeyStorage {
  getItem(name: string): string | null;
  setItem(name: string, value: string): void;
  removeItem(name: string): void;
}

/** The record of an intent: never a value that was entered. */
export interface KeyRecord {
  version: 1;
  key: string;
  intent: string;
  /** `executing`: sent, no answer yet. `unknown`: an attempt had no answer. `settled`: done and acknowledged. */
  state: 'executing' | 'unknown' | 'settled';
  /** Milliseconds since the epoch, by this browser's clock. */
  submittedAt: number;
  /** The page that it was sent from, on which its form finds out what became of it. */
  page?: string | undefined;
  /** A new deployment did not know the page's action, so the page was loaded again. That happens once for a key. */
  reloaded?: boolean | undefined;
  /** That page in the browser's history. */
  entry?: string | undefined;
  nextKey?: string | undefined;
}

/** Longer than any default retention: after that the server could not answer for the key either. */
const MAX_AGE_MS = 7 * 24 * 3_600_000;

const PREFIX = 'oncekit:';

/** For storages that are blocked or full. Per page, and written by effects only, so never shared on a server. */
const memory = new Map<string, string>();

/** The intents that have a record. None for a storage that is blocked. */
export function listIntents(storage: 'session' | 'local' | 'memory'): string[] {
  const names = storage === 'memory' ? [...memory.keys()] : tryOr(() => Object.keys(window[`${storage}Storage`]));
  return (names ?? []).filter((name) => name.startsWith(PREFIX)).map((name) => name.slice(PREFIX.length));
}

/** The records of one storage. Blocked, full or tampered storage degrades to memory and to "no record", never throws. */
export function openRecords(storage: 'session' | 'local' | 'memory' | KeyStorage = 'session') {
  // The getter throws where it is blocked. There is none for `memory`.
  const backend = (): KeyStorage | undefined =>
    typeof storage === 'string' ? window[`${storage}Storage` as 'localStorage'] : storage;
  return {
    /** No other tab that shares the storage does the same meanwhile. Short: a held lock keeps a page out of the cache. */
    withLock<T>(intent: string, work: () => T): T | Promise<T> {
      // Refused, where storage is blocked.
      return (storage === 'local' && navigator.locks?.request(PREFIX + intent, work).catch(work)) || work();
    },
    /** True for a record that outlives the page. */
    isKept: (intent: string) => !memory.has(PREFIX + intent),
    read(intent: string): KeyRecord | null {
      const name = PREFIX + intent;
      // No text at all is no JSON either, or `null`.
      const value = tryOr(() => JSON.parse((memory.get(name) ?? backend()?.getItem(name)) as string));
      return isRecord(value) ? value : null;
    },
    write(intent: string, record: KeyRecord | null): void {
      const name = PREFIX + intent;
      const value = JSON.stringify(record);
      const kept = tryOr(() => {
        if (record) backend()?.setItem(name, value);
        else backend()?.removeItem(name);
        return (backend()?.getItem(name) ?? 'null') === value; // some embedded browsers accept and forget
      });
      if (kept) memory.delete(name);
      else memory.set(name, value); // also a `null`, which hides what could not be removed
    },
  };
}

export type Records = ReturnType<typeof openRecords>;

/** Storage may hold anything. A time that is no number compares as false. */
function isRecord(value: KeyRecord | null | undefined): value is KeyRecord {
  return (
    value?.version === 1 &&
    Date.now() - value.submittedAt < MAX_AGE_MS &&
    isKey(value.key) &&
    isKey(value.nextKey ?? value.key)
  );
}
