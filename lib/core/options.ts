import { ConfigurationError } from './errors.ts';

/** The names of all options of a type. The compiler asks for each one that is added to it. */
export type OptionNames<Options> = Readonly<Record<keyof Options & string, true>>;

/**
 * Refuses an option that nobody reads: a name that is spelt wrong would be ignored in silence. For set-up alone.
 *
 * @param call the function that was given them, as it is written: `createIdempotency`
 * @throws ConfigurationError which names the nearest option that there is
 */
export function assertKnownOptions(call: string, given: object, known: OptionNames<never>): void {
  const unknown = Object.keys(given).find((name) => !Object.hasOwn(known, name));
  if (unknown === undefined) return;
  const names = Object.keys(known);
  const nearest = nearestOf(unknown, names);
  throw new ConfigurationError(
    `${call} has no option \`${unknown}\`, so it would do nothing. ${nearest ? `Write \`${nearest}\`.` : 'Remove it.'}`,
    { existing: unknown, expected: nearest ?? `one of ${names.join(', ')}` },
  );
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
