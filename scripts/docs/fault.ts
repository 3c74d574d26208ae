/** A place of the repository that breaks a rule, and what to do about it. */
export interface Fault {
  file: string;
  line: number;
  advice: string;
}

/** The line of a place, counted from 1. */
export function lineAt(text: string, position: number): number {
  return text.slice(0, position).split('\n').length;
}

/** Prints them, and makes the process fail where there are some. */
export function reportFaults(faults: readonly Fault[]): void {
  for (const { file, line, advice } of faults) console.error(`${file}:${line}: ${advice}`);
  if (faults.length > 0) process.exitCode = 1;
}
