import { onTestFinished } from 'vitest';

/**
 * Keeps a warning that a test provokes on purpose out of the output until the test is over. All others are printed as ever.
 * There is nothing to assert: a library warns once in a process, so whether it does here is up to the files before.
 */
export function ignoreWarning(pattern: RegExp): void {
  const { emitWarning } = process;
  const emitOthers = (...args: Parameters<typeof emitWarning>) => {
    if (!pattern.test(String(args[0]))) emitWarning(...args);
  };
  process.emitWarning = emitOthers as typeof emitWarning;
  onTestFinished(() => {
    process.emitWarning = emitWarning;
  });
}
