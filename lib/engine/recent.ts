import { isSettled } from '../core/key-state.ts';
import { type KeyId, nameOf } from '../core/scope.ts';
import type { KeyRow } from '../store/store.ts';

/** One key, or what of it is given: all keys of a principal. */
export type Remembered = Pick<KeyId, 'tenant' | 'principal'> & Partial<KeyId>;

/** How long a row is remembered, in milliseconds. */
const KEEP_MS = 5000;
const MAX_ROWS = 1000;
const MAX_BYTES = 4 * 2 ** 20;
/** What a row takes besides its answer, at a guess that is rather too high. */
const ROW_BYTES = 1000;

interface Kept {
  readonly row: KeyRow;
  readonly bytes: number;
  /** In milliseconds of the monotonic clock. */
  readonly until: number;
}

/**
 * The settled rows that this process has seen within the last five seconds: most duplicates come right behind their
 * first, and are answered from here without the database. A settled row never changes again (S1), so what is told from
 * memory is what the row would say. The two ways in which its answer can go all the same, a person who has it erased
 * (X3) in another process and a newer deploy that runs a naturally idempotent operation again (R3), show here five
 * seconds later at most; so does a row that was reaped.
 *
 * Only a shortcut: what is forgotten, the row still tells. Bounded in rows and in bytes; the oldest go first.
 */
export class Recent {
  /** The oldest come first. */
  readonly #byId = new Map<string, Kept>();
  readonly #now: () => number;
  #bytes = 0;

  /** @param now milliseconds of a clock that is never set back */
  constructor(now = () => performance.now()) {
    this.#now = now;
  }

  find(id: KeyId): KeyRow | undefined {
    const found = this.#byId.get(nameOf(id));
    return found && found.until > this.#now() ? found.row : undefined;
  }

  /** Remembers a row that was just read or written; one that may still change it does not. */
  remember(row: KeyRow): void {
    if (!isSettled(row.state)) return;
    const name = nameOf(row);
    this.#drop(name); // it becomes the youngest
    const bytes = ROW_BYTES + 2 * (row.result?.length ?? 0);
    this.#byId.set(name, { row, bytes, until: this.#now() + KEEP_MS });
    this.#bytes += bytes;
    this.#makeRoom();
  }

  /** Forgets what was remembered of these keys. */
  drop(of: Remembered): void {
    const wanted = Object.entries(of) as [keyof KeyId, string][];
    for (const [name, { row }] of this.#byId) {
      if (wanted.every(([part, value]) => row[part] === value)) this.#drop(name);
    }
  }

  #makeRoom(): void {
    for (const oldest of this.#byId.keys()) {
      if (this.#byId.size <= MAX_ROWS && this.#bytes <= MAX_BYTES) return;
      this.#drop(oldest);
    }
  }

  #drop(name: string): void {
    this.#bytes -= this.#byId.get(name)?.bytes ?? 0;
    this.#byId.delete(name);
  }
}
