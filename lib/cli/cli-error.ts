/** What a person did or has that does not work: said in one sentence, with the fix, without a stack trace. */
export class CliError extends Error {
  /** What to do about it. */
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
