import { assertSetUp, ConfigurationError } from './errors.ts';
import { isPromised } from './wait.ts';

type Words<Text extends string> = Text extends `${infer Word} ${infer Rest}` ? Word | Words<Rest> : Text;

type AreAll<Names, Options> = [Names, keyof Options & string] extends [keyof Options, Names] ? unknown : never;

/** Names all options of a type, in lines of words. The compiler asks for each one that is added to it, and refuses what is none. */
export const optionNames =
  <Options>() =>
  <Line extends string>(...lines: (Line & AreAll<Words<Line>, Options>)[]): object =>
    Object.fromEntries(lines.flatMap((line) => line.split(' ')).map((name) => [name, true]));

/**
 * Refuses an option that nobody reads: a name that is spelt wrong would be ignored in silence. For set-up alone.
 *
 * @param call the function that was given them, as it is written: `createIdempotency`
 * @throws ConfigurationError which names the nearest option that there is
 */
export function assertKnownOptions(call: string, given: object, known: object): void {
  const unknown = Object.keys(given).find((name) => !Object.hasOwn(known, name));
  if (unknown === undefined) return;
  const names = Object.keys(known);
  const nearest = nearestOf(unknown, names);
  throw new ConfigurationError(
    `${call} has no option \`${unknown}\`, so it would do nothing. ${nearest ? `Write \`${nearest}\`.` : 'Remove it.'}`,
    { existing: unknown, expected: nearest ?? `one of ${names.join(', ')}` },
  );
}

/**
 * Passes on what a callback of the app's has returned, where that is of its type: nothing else is taken for its word.
 *
 * @param callback for the error: `admit of checkout`
 * @param isFit default: whatever is there at once
 * @throws ConfigurationError without the value, which may be what somebody has sent
 */
export function returned<T>(
  callback: string,
  value: unknown,
  isFit = (it: unknown) => !isPromised(it),
  expected = 'a value, and no promise of one',
): T {
  if (isFit(value)) return value as T;
  if (value instanceof Promise) value.catch(() => {}); // refused, whatever it comes to
  const existing = isPromised(value) ? 'a promise' : Number.isNaN(value) ? 'NaN' : typeof value;
  throw new ConfigurationError(`${callback} has returned what it cannot mean.`, { existing, expected });
}

/**
 * False for a value that may tell of a failure, and that nobody would read: what the app's code does would count as done. It may be
 * another realm's or library's.
 */
export const isResult = (made: unknown) =>
  !(made instanceof Error || typeof made === 'function' || /^\[object (Response|Error)]$/.test({}.toString.call(made)));

/** Reads what a callback says that admits: true, how many milliseconds to wait, or one of `words`. Errors as of `returned`. */
export function admission<Word extends string = never>(callback: string, said: unknown, ...words: Word[]) {
  const isAdmission = (it: unknown) =>
    it === true || words.includes(it as Word) || (Number.isFinite(it) && Number(it) >= 0);
  return returned<true | number | Word>(callback, said, isAdmission, ['true', 'milliseconds', ...words].join(', or '));
}

/** One name that was given where a list of names is expected is a list of one. */
export function listOf(given: string | readonly string[] | undefined): readonly string[] | undefined {
  return typeof given === 'string' ? [given] : given;
}

/** How many letters of three may differ for a name to be taken for another one. */
const LETTERS = 3;

function nearestOf(name: string, names: readonly string[]): string | undefined {
  const asked = name.toLowerCase();
  const [nearest] = names
    .map((each) => ({ each, distance: differenceOf(asked, each.toLowerCase()) }))
    .filter(({ each, distance }) => distance <= Math.max(1, Math.floor(Math.min(each.length, asked.length) / LETTERS)))
    .sort((one, other) => one.distance - other.distance);
  return nearest?.each;
}

/** How many letters must be changed, added or left out to make one of the other; none where one is the beginning of the other. */
function differenceOf(one: string, other: string): number {
  const [short, long] = one.length < other.length ? [one, other] : [other, one];
  if (short.length >= LETTERS + 1 && long.startsWith(short)) return 1;
  let row = Array.from({ length: short.length + 1 }, (_, at) => at);
  for (const [line, letter] of [...long].entries()) {
    const next = [line + 1];
    for (let at = 1; at <= short.length; at++) {
      const change = (row[at - 1] as number) + (short[at - 1] === letter ? 0 : 1);
      next.push(Math.min(change, (row[at] as number) + 1, (next[at - 1] as number) + 1));
    }
    row = next;
  }
  return row[short.length] as number;
}

const UNITS = { ms: 1, s: 1000, m: 60_000, h: 3_600_000, d: 86_400_000 } as const;

/** Milliseconds, or a number with a unit: `500ms`, `30s`, `15m`, `24h`, `7d`. */
export type Duration = number | `${number}${keyof typeof UNITS}`;

/** The duration in milliseconds. Throws `ConfigurationError` when it cannot be read or is not positive. */
export function toMs(duration: Duration, name: string): number {
  const [, count, unit] = /^(\d+(?:\.\d+)?)(ms|s|m|h|d)$/.exec(duration as string) ?? [];
  const ms = typeof duration === 'number' ? duration : Number(count) * UNITS[unit as keyof typeof UNITS];
  assertSetUp(
    Number.isFinite(ms) && ms > 0,
    `${name} is not a duration. Write milliseconds or a unit: '24h', '15m', '30s'.`,
    { existing: duration, expected: 'a positive number, or a number with ms, s, m, h or d' },
  );
  return Math.round(ms);
}
