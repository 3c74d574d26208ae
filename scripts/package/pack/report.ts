import type { Failure } from '../../testing/test-count.ts';
import type { Server } from './database.ts';

/** The checks and their results, one line each, and how many of each there are. */
export class Report {
  passed = 0;
  readonly failures: Failure[] = [];
  readonly #say: (line: string) => void;

  get failed(): number {
    return this.failures.length;
  }

  constructor(say: (line: string) => void) {
    this.#say = say;
  }

  /** The checks below belong together: where one fails that the others need, the rest of them is left out. */
  async section(title: string, work: () => Promise<void>): Promise<void> {
    this.#say(`\n${title}`);
    const failedBefore = this.failed;
    await work().catch((error) => {
      if (this.failed === failedBefore) this.#fail(title, 0, error);
    });
  }

  /** One check. It passes when `work` resolves; else it counts as failed, and the error goes on to the section. */
  async check<T>(name: string, work: () => T | Promise<T>): Promise<T> {
    const startedAt = performance.now();
    try {
      const result = await work();
      this.passed++;
      this.#say(`  ✓ ${name}${took(startedAt)}`);
      return result;
    } catch (error) {
      this.#fail(name, startedAt, error);
      throw error;
    }
  }

  /** As `check`, for what nothing else depends on: the section goes on. */
  async alone(name: string, work: () => unknown): Promise<void> {
    await this.check(name, work).catch(() => {});
  }

  note(line: string): void {
    this.#say(`  ${line}`);
  }

  #fail(name: string, startedAt: number, error: unknown): void {
    const words = error instanceof Error ? error.message : String(error);
    this.failures.push({ test: name, why: words });
    this.#say(`  ✗ ${name}${startedAt ? took(startedAt) : ''}\n${words.replace(/^/gm, '      ')}`);
  }
}

function took(startedAt: number): string {
  const seconds = (performance.now() - startedAt) / 1000;
  return seconds < 0.1 ? '' : ` (${seconds.toFixed(1)} s)`;
}

/** The part of `test:pack` that needs no database works with it. */
export interface Packing {
  report: Report;
  /** Ends whatever runs. */
  signal: AbortSignal;
  /** Also what takes longer than `npm test` can bear. */
  isThorough: boolean;
}

/** Each walk of `test:pack` works with it. */
export interface Context extends Packing {
  server: Server;
}
