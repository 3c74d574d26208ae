import { assertSetUp, CodedError } from '../../core/errors.ts';
import { returned } from '../../core/options.ts';
import type { Executed } from '../../core/outcome.ts';
import { isDoubtful, type Step, type StepKind } from '../../store/leases.ts';
import type { ForeignCall } from './context.ts';

/** What a foreign call says for the case that its key is refused behind it. */
export type Compensation<R> = Pick<ForeignCall<never, R>, 'compensates' | 'needsCompensation'>;

/** A step as the function asks for it, and what is stored of it. */
export interface Entry {
  position: number;
  stored: Step | undefined;
}

/**
 * The steps of one run, against those that are stored (P1). A stored step must be asked for again at its place, under
 * its name: whatever else the function does with its memory would be a guess. A place may be empty before one that is not:
 * of a key that the database had lost, what lay outside is known, and the phases between run again.
 */
export class Journal {
  readonly #stored: ReadonlyMap<number, Step>;
  readonly #names = new Set<string>();
  readonly #finished = new Map<string, { read: () => unknown; call: Compensation<unknown> | undefined }>();
  /** Stored foreign calls that are done, or may be, and that this run has not come to. */
  readonly #unreached: Map<string, Step['state']>;
  #open: string | undefined;

  constructor(stored: readonly Step[]) {
    this.#stored = new Map(stored.map((step) => [step.position, step]));
    // Of a lost key that was entered, a phase before them may refuse.
    const made = stored.filter((step) => step.kind === 'foreign' && (step.state === 'done' || isDoubtful(step)));
    this.#unreached = new Map(made.map(({ name, state }) => [name, state]));
  }

  /**
   * @throws CodedError `phase_mismatch` where another step is stored at this place
   * @throws ConfigurationError for a step inside another, or beside it, or with a name that was used before
   */
  enter(name: string, kind: StepKind): Entry {
    const inside = `The step ${name} begins inside ${this.#open}. One at a time: await each step.`;
    assertSetUp(this.#open === undefined, inside, { existing: this.#open, expected: 'no open step' });
    const isNamed = typeof name === 'string' && name !== '' && name.length <= 100;
    assertSetUp(isNamed, 'A step needs a name.', { existing: name, expected: '1 to 100 characters' });
    const twice = `Two steps are called ${name}. Its stored result would be taken for the other's.`;
    assertSetUp(!this.#names.has(name), twice, { existing: name, expected: 'a name of its own for each step' });
    const stored = this.#stored.get(this.#names.size + 1);
    if (stored && (stored.name !== name || stored.kind !== kind)) {
      throw stepsChanged(stored, `${kind} ${name} as step ${this.#names.size + 1}`);
    }
    this.#names.add(name);
    if (stored) this.#unreached.delete(name);
    this.#open = name;
    return { position: this.#names.size, stored };
  }

  leave(): void {
    this.#open = undefined;
  }

  /**
   * @param read gives its result anew each time, so that nobody changes another's
   * @param call the step's, where it is a foreign one
   */
  finish<R>(name: string, read: () => R, call?: Compensation<R>): void {
    this.#finished.set(name, { read, call: call as Compensation<unknown> | undefined });
  }

  /** The results of the steps that this run has finished, or found so, by their names. */
  results(): Record<string, unknown> {
    return Object.fromEntries([...this.#finished].map(([name, { read }]) => [name, read()]));
  }

  /** Tells whether a foreign call is done, by this run or before it. `'unknown'`: one may be that this run has not come to. */
  get executed(): Executed {
    return this.#executedWith([...this.#finished.values()].some(({ call }) => call));
  }

  #executedWith(isDone: boolean): Executed {
    return isDone || [...this.#unreached.values()].includes('done') || (this.#unreached.size > 0 ? 'unknown' : false);
  }

  /**
   * Tells what a refusal leaves: the foreign calls that are done, or may be, and that no other call has compensated; and whether
   * anything was done at all. A call of which nothing came, by what it says of its result, counts for nothing.
   *
   * @param onError told of a call that cannot say whether it needs a compensation, and so does
   */
  left(onError: (error: unknown) => void): { uncompensated: readonly string[]; executed: Executed } {
    const left = new Set(this.#unreached.keys());
    let isDone = false;
    for (const [name, { read, call }] of this.#finished) {
      if (!call) continue;
      const { compensates, needsCompensation } = call;
      let isSure = true;
      try {
        if (typeof needsCompensation === 'function') {
          const said = needsCompensation(read());
          if (!returned(`needsCompensation of ${name}`, said, (it) => typeof it === 'boolean', 'true or false'))
            continue;
        }
      } catch (error) {
        onError(error);
        isSure = false;
      }
      isDone = true;
      if (compensates === undefined) {
        if (needsCompensation !== false) left.add(name);
      } else if (isSure) left.delete(compensates);
    }
    return { uncompensated: [...left], executed: this.#executedWith(isDone) };
  }

  /** @throws ConfigurationError where the function did not await a step: it would end the key with a call under way */
  assertAwaited(): void {
    const stillOpen = `The function ended while its step ${this.#open} was running. Await each step.`;
    assertSetUp(this.#open === undefined, stillOpen, { existing: this.#open, expected: 'no open step' });
  }

  /** @throws CodedError `phase_mismatch` where the function ended before it asked for every stored step */
  assertComplete(): void {
    const missed = [...this.#stored.values()].find(({ position }) => position > this.#names.size);
    if (missed) throw stepsChanged(missed, `an end after ${this.#names.size} steps`);
  }
}

const stepsChanged = ({ kind, name, position }: Step, expected: string) =>
  new CodedError('phase_mismatch', 'The steps of this operation have changed while the key was unfinished.', {
    existing: `${kind} ${name} as step ${position}`,
    expected,
  });
