import { userInfo } from 'node:os';
import { createInterface } from 'node:readline/promises';
import { type ParseArgsConfig, parseArgs } from 'node:util';
import { counted } from './table.ts';

/** One command of `oncekit`. */
export interface Command {
  /** Printed by `oncekit <command> --help`. */
  help: string;
  /** Resolves with the exit code: 0 done, 1 not done or a problem found. A CliError is printed as a sentence, without a trace. */
  run(args: string[]): Promise<number>;
}

/** A fault of what a person did or has: printed as one sentence with the fix, without a stack trace. */
export class CliError extends Error {
  /** The sentence that says what to do about it. */
  readonly fix: string | undefined;
  readonly exitCode: number = 1;

  constructor(message: string, fix?: string) {
    super(message);
    this.fix = fix;
  }
}

/** Asked for something that does not exist: exit code 2. */
export class UsageError extends CliError {
  override readonly exitCode = 2;
}

/** The two kinds of options. */
export const text = { type: 'string' } as const;
export const flag = { type: 'boolean' } as const;

type Options = NonNullable<ParseArgsConfig['options']>;

/**
 * Reads a command's arguments: the values of the options by their names, and those without a dash.
 *
 * @param names how many arguments without a dash it takes
 * @throws UsageError with the names that exist, for one that does not
 */
export function readArgs<O extends Options>(
  args: string[],
  options: O,
  names = 0,
): ReturnType<typeof parseArgs<{ args: string[]; options: O; allowPositionals: true; strict: true }>> {
  try {
    const read = parseArgs({ args, options, allowPositionals: true, strict: true });
    const count = read.positionals.length;
    if (count === names) return read;
    if (names === 0) throw new Error(`It takes no "${read.positionals[0]}".`);
    throw new Error(`It takes ${counted(names, 'name')}, and there are ${count}.`);
  } catch (error) {
    const known = Object.keys(options).map((name) => `--${name}`);
    // Node's own sentence goes on with advice about "--", which is none here.
    const [said] = (error as Error).message.split('. To specify');
    throw new UsageError(
      `${said}`.replace(/\.?$/, '.'),
      known.length > 0 ? `It knows ${known.join(', ')}.` : undefined,
    );
  }
}

/** What `all` has under the name. @throws UsageError with the names that exist, for one that does not */
export function readSubcommand<T>(of: string, name: string | undefined, all: Readonly<Record<string, T>>): T {
  if (name && Object.hasOwn(all, name)) return all[name] as T;
  const names = Object.keys(all).join(', ');
  throw new UsageError(name ? `There is no "${of} ${name}".` : `What about ${of}?`, `There is: ${names}.`);
}

/** @throws UsageError for a name that no column holds */
export function readName(what: string, value: string): string {
  if (/^[^\0]{1,255}$/u.test(value)) return value;
  throw new UsageError(`${what} has 1 to 255 characters.`);
}

/** Left out, the actor is the user of this machine. */
export function readActor(value: string | undefined): string {
  return readName('A --actor', value ?? userInfo().username);
}

/** The length of a page. */
export function readLimit(value = '50'): number {
  const count = Number(value);
  if (/^\d+$/.test(value) && count >= 1 && count <= 1000) return count;
  throw new UsageError(`--limit takes a number from 1 to 1000, not "${value}".`);
}

/** Asks for a yes. False where nothing is answered, and in a script that cannot be asked. */
export async function confirm(question: string): Promise<boolean> {
  const terminal = createInterface({ input: process.stdin, output: process.stdout });
  const ended = new Promise<string>((resolve) => terminal.once('close', () => resolve('')));
  try {
    const answer = await Promise.race([terminal.question(question), ended]);
    return /^y(es)?$/i.test(answer.trim());
  } finally {
    terminal.close();
  }
}
