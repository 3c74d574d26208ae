import { isInternalField } from '../core/fields.ts';
import { isKey } from '../core/key-syntax.ts';

/** Where keys are remembered. `localStorage` and `sessionStorage` fit as they are. */
export interface KeyStorage {
  getItem(name: string): string | null;
  setItem(name: string, value: string): void;
  removeItem(name: string): void;
}

/** What is remembered of an intent: never a value that was entered (B3). */
export interface KeyRecord {
  version: 1;
  key: string;
  intent: string;
  /** `executing`: sent, no answer yet. `unknown`: an attempt had no answer. `settled`: done and acknowledged. */
  state: 'executing' | 'unknown' | 'settled';
  /** Milliseconds since the epoch, by this browser's clock. */
  submittedAt: number;
  /** Of the values: tells whether they are the same, not what they are. */
  fingerprint: string;
  nextKey?: string | undefined;
}

/** Longer than any default retention: after that the server could not answer for the key either. */
const MAX_AGE_MS = 7 * 24 * 3_600_000;

const PREFIX = 'oncekit:';

/** For storages that are blocked or full. Per page, and written by effects only, so never shared on a server. */
const memory = new Map<string, string>();

/** The records of one storage. Blocked, full or tampered storage degrades to memory and to "no record", never throws. */
export function openRecords(storage: 'session' | 'memory' | KeyStorage) {
  const backend = (): KeyStorage | undefined => {
    if (storage === 'memory') return undefined;
    return storage === 'session' ? window.sessionStorage : storage; // the getter itself throws where it is blocked
  };
  return {
    read(intent: string): KeyRecord | null {
      const name = PREFIX + intent;
      return parse(memory.get(name) ?? attempt(() => backend()?.getItem(name)), intent);
    },
    write(intent: string, record: KeyRecord | null): void {
      const name = PREFIX + intent;
      const value = JSON.stringify(record);
      const kept = attempt(() => {
        if (!record) backend()?.removeItem(name);
        else backend()?.setItem(name, value);
        return !record || backend()?.getItem(name) === value; // some embedded browsers accept and forget
      });
      if (kept) memory.delete(name);
      else memory.set(name, value); // also a `null`, which hides what could not be removed
    },
  };
}

export type Records = ReturnType<typeof openRecords>;

/** A 32-bit hash over names and values, files by name, type and size. Cheap, and not meant to keep a secret. */
export function fingerprintOf(form: FormData): string {
  let hash = 0;
  for (const [name, value] of form) {
    if (isInternalField(name)) continue;
    const what = typeof value === 'string' ? value : [value.name, value.type, value.size];
    for (const char of JSON.stringify([name, what])) hash = Math.imul(hash, 31) + char.charCodeAt(0);
  }
  return hash.toString(36);
}

function attempt<T>(use: () => T): T | undefined {
  try {
    return use();
  } catch {
    return undefined;
  }
}

/** Whatever is not sound is not there. */
function parse(text: string | null | undefined, intent: string): KeyRecord | null {
  const value: KeyRecord | null | undefined = attempt(() => JSON.parse(text ?? 'null'));
  const sound =
    value?.version === 1 &&
    value.intent === intent &&
    ['executing', 'unknown', 'settled'].includes(value.state) &&
    Date.now() - value.submittedAt < MAX_AGE_MS && // and a number: NaN is less than nothing
    [value.key, value.nextKey ?? value.key].every(isKey);
  return sound ? value : null;
}
