import { type ParseArgsConfig, parseArgs } from 'node:util';
import { UsageError } from './cli-error.ts';
import { counted } from './doctor/finding.ts';

/** One command of `oncekit`. */
export interface Command {
  /** What `oncekit <command> --help` prints. */
  help: string;
  /** Resolves with the exit code: 0 done, 1 not done or a problem found. What it throws as a CliError is said, not traced. */
  run(args: string[]): Promise<number>;
}

type Options = NonNullable<ParseArgsConfig['options']>;

/** What was asked for, by the names of the options. */
type Asked<O extends Options> = ReturnType<
  typeof parseArgs<{ args: string[]; options: O; allowPositionals: true; strict: true }>
>;

/**
 * Reads a command's arguments. What does not exist is a UsageError with the names that do.
 *
 * @param names how many arguments without a dash it takes
 */
export function readArgs<O extends Options>(args: string[], options: O, names = 0): Asked<O> {
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
