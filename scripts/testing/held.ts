import { posix } from 'node:path';
import type { Count } from './test-count.ts';
import { isWithout } from './without.ts';

/** A row of docs/failures.md, and the files that hold it. */
interface Row {
  row: string;
  files: string[];
}

/** The rows of the page's tables. Each ends with links to the files that hold it. */
export function rowsOf(page: string): Row[] {
  return page.split('\n').flatMap((line) => {
    const [, row = '', ...cells] = line.split(/(?<!\\)\|/);
    const links = [...(cells.at(-2) ?? '').matchAll(/\]\(([^)]+\.tsx?)\)/g)].map(([, link = '']) => link);
    return links.length > 0 ? [{ row: row.trim(), files: links.map((link) => posix.join('docs', link)) }] : [];
  });
}

/** The rows of which no test has passed. `lacking`: those whose tests were skipped for want of a program. */
function unheldRows({ files, failures, lacking }: Count, page: string): { unheld: Row[]; lacking: Row[] } {
  // A failure is told already.
  const seen = [...files, ...failures.map(({ file }) => file?.path)];
  const skipped = lacking.map(({ file }) => file);
  const isLacking = (file: string) =>
    skipped.includes(file) || (isWithout('chromium') && file.endsWith('.browser.test.tsx'));
  const rows = rowsOf(page).filter((row) => !row.files.some((file) => seen.includes(file)));
  return {
    unheld: rows.filter((row) => !row.files.some(isLacking)),
    lacking: rows.filter((row) => row.files.some(isLacking)),
  };
}

/** A guarantee of which no test has run is a failure of its own: `page` is the text of docs/failures.md. */
export function withUnheld(count: Count, page: string): Count {
  const failures = unheldRows(count, page).unheld.map(({ row, files }) => ({
    test: `docs/failures.md › ${row}`,
    why: `No test of ${files.join(', ')} has passed in this run. Leave a short one of it untagged, or name another file.`,
  }));
  return { ...count, failed: count.failed + failures.length, failures: [...count.failures, ...failures] };
}

/** The guarantees that this machine could not look at. */
export function lackingRows(count: Count, page: string): string[] {
  return unheldRows(count, page).lacking.map(({ row }) => row);
}
