import { readFile } from 'node:fs/promises';

/** How many tests of Vitest's passed and failed, from the report of its reporter `json`. */
export async function readVitestReport(file: string): Promise<{ passed: number; failed: number; skipped: number }> {
  const report = JSON.parse(await readFile(file, 'utf8'));
  const { numPassedTests: passed, numFailedTests: failed, numPendingTests: pending, numTodoTests: todo } = report;
  // A file that cannot even be loaded has no failed test.
  const broken = report.testResults.filter((one: { status: string; assertionResults: unknown[] }) => {
    return one.status === 'failed' && one.assertionResults.length === 0;
  });
  return { passed, failed: failed + broken.length, skipped: pending + todo };
}
