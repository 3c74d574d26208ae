import { posix } from 'node:path';
import type { Count } from './test-count.ts';

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

/** A guarantee of which no test has run is a failure of its own: `page` is the text of docs/failures.md. */
export function withUnheld(count: Count, page: string): Count {
  // A failure is told already.
  const seen = [...count.files, ...count.failures.map(({ file }) => file?.path)];
  const failures = rowsOf(page)
    .filter(({ files }) => !files.some((file) => seen.includes(file)))
    .map(({ row, files }) => ({
      test: `docs/failures.md › ${row}`,
      why: `No test of ${files.join(', ')} has passed in this run. Leave a short one of it untagged, or name another file.`,
    }));
  return { ...count, failed: count.failed + failures.length, failures: [...count.failures, ...failures] };
}
