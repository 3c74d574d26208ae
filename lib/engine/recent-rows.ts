import { isSettled } from '../core/key-state.ts';
import { type KeyId, nameOf } from '../core/scope.ts';
import type { KeyRow } from '../store/store.ts';

/** One key, or what of it is given: all keys of a principal. */
export type Remembered = Pick<KeyId, 'tenant' | 'principal'> & Partial<KeyId>;

/** How long a row is remembered, in milliseconds. */
const KEEP_MS = 5000;
/** Of a generation; there are two. */
const MAX_ROWS = 500;
const MAX_BYTES = 2 * 2 ** 20;
/** The bytes that a row takes besides its answer, at a guess that is rather too high. */
const ROW_BYTES = 1000;

interface Kept {
  readonly row: KeyRow;
  /** In milliseconds of the monotonic clock. */
  readonly until: number;
}

/**
 * The settled rows that this process has seen within the last five seconds: most duplicates come right behind their
 * first, and are answered from here without the database. A settled row never changes again (S1), so what is told from
 * memory is what the row would say. The two ways in which its answer can go all the same, a person who erases it
 * (X3) in another process and a newer deploy that runs a naturally idempotent operation again (R3), show here five
 * seconds later at most; so does a row that was reaped.
 *
 * Only a shortcut: what is forgotten, the row still tells. Bounded in rows and in bytes, by two generations: the older
 * one is let go as a whole once the younger one is full, which costs less than to forget a row for each that comes.
 */
export class RecentRows {
  #young = new Map<string, Kept>();
  #old = new Map<string, Kept>();
  readonly #now: () => number;
  /** Of the young, with what was replaced among them. */
  #bytes = 0;

  /** @param now milliseconds of a clock that is never set back */
  constructor(now = () => performance.now()) {
    this.#now = now;
  }

  find(id: KeyId): KeyRow | undefined {
    const name = nameOf(id);
    // The young first: a row that was seen again is among both.
    const found = this.#young.get(name) ?? this.#old.get(name);
    return found && found.until > this.#now() ? found.row : undefined;
  }

  /** Remembers a row that was just read or written; one that may still change it does not. */
  remember(row: KeyRow): void {
    if (!isSettled(row.state)) return;
    const bytes = ROW_BYTES + 2 * (row.result?.length ?? 0);
    if (this.#young.size >= MAX_ROWS || this.#bytes + bytes > MAX_BYTES) {
      this.#old = this.#young;
      this.#young = new Map();
      this.#bytes = 0;
    }
    this.#young.set(nameOf(row), { row, until: this.#now() + KEEP_MS });
    this.#bytes += bytes;
  }

  /** Forgets what was remembered of these keys. */
  drop(of: Remembered): void {
    const wanted = Object.entries(of) as [keyof KeyId, string][];
    for (const generation of [this.#young, this.#old]) {
      for (const [name, { row }] of generation) {
        if (wanted.every(([part, value]) => row[part] === value)) generation.delete(name);
      }
    }
  }
}
