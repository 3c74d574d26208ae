/** What came out of a run of `npm test`. */
export interface RunResult {
  passed: number;
  failed: number;
  skipped: number;
  flaky: number;
  minutes: number;
}

/** Reads it from what the run has printed. One that did not come to its last line, or ended badly, has failed. */
export function resultOf(
  lines: readonly string[],
  exitCode: number | null,
  more: Pick<RunResult, 'flaky' | 'minutes'>,
): RunResult {
  const last = /^(\d+) passed, (\d+) failed(?:, (\d+) skipped)?$/.exec(lines.findLast((line) => line.trim()) ?? '');
  const [, passed = '0', failed = '1', skipped = '0'] = last ?? [];
  const atLeast = exitCode === 0 ? 0 : 1;
  return { passed: Number(passed), failed: Math.max(atLeast, Number(failed)), skipped: Number(skipped), ...more };
}

/** A line of docs/test-runs.md. */
export function rowOf({ at, commit, isBurnt, ...result }: RunResult & { at: Date; commit: string; isBurnt: boolean }) {
  const { passed, failed, skipped, flaky, minutes } = result;
  const cells = [at.toISOString().slice(0, 16).replace('T', ' '), commit, isBurnt ? 'burnt' : 'quiet'];
  return `| ${[...cells, passed, failed, skipped, flaky, minutes.toFixed(1)].join(' | ')} |`;
}
