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
  readonly exitCode: number;

  constructor(message: string, fix?: string, exitCode = 1) {
    super(message);
    this.fix = fix;
    this.exitCode = exitCode;
  }
}

/** Asked for something that does not exist: exit code 2. */
export class UsageError extends CliError {
  constructor(message: string, fix?: string) {
    super(message, fix, 2);
  }
}
