/** Compares the JavaScript that each page of the demo makes a browser load first, in bytes gzip, with its limit. */
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { gzipSync } from 'node:zlib';
import { distDirOf, variantOf } from '../../shop/variants.ts';

/**
 * The limit of a page, in kB (1000 bytes) gzip. Of each, 140 are React's and Next's. The longest beginning of
 * the route that stands here counts. Raise a number only with a reason that is worth it to whoever waits for the page.
 */
const BUDGETS: Record<string, number> = {
  '/': 143,
  '/admin': 150,
  // Raised where forms are, for values and gestures: one press, one charge. The rest: what is said of a payment in doubt.
  '/checkout': 153.2,
  '/examples': 151,
  '/examples/forms': 152,
  // Their libraries; conform's page checks by the schema, so it has zod, too.
  '/examples/conform': 193,
  '/examples/react-hook-form': 164,
  '/examples/react-hook-form-rows': 166,
  '/examples/tanstack-form': 169,
  '/examples/tanstack-query': 161,
  // Radix, whose choice alone brings what places it.
  '/examples/wild': 179,
  '/examples/wild/modal': 149,
  '/examples/wild/shelves': 149,
  '/lab': 160,
  // The parallel route of the modal in the wild has Turbopack cut what all pages load into smaller files.
  '/orders': 150.5,
};

interface RouteSize {
  route: string;
  /** The sum of its files, each as it is sent: gzip by itself. */
  bytes: number;
}

/** Each page of a build with what a first visit to it loads. The build says which files those are. */
export function routeSizes(distDir = distDirOf(variantOf(process.env))): RouteSize[] {
  const root = fileURLToPath(new URL('../..', import.meta.url));
  const stats: { route: string; firstLoadChunkPaths: string[] }[] = JSON.parse(
    readFileSync(join(root, distDir, 'diagnostics/route-bundle-stats.json'), 'utf8'),
  );
  const sizes = new Map<string, number>();
  const sizeOf = (file: string) => {
    const size = sizes.get(file) ?? gzipSync(readFileSync(join(root, file)), { level: 6 }).length;
    sizes.set(file, size);
    return size;
  };
  return stats
    .map(({ route, firstLoadChunkPaths: files }) => ({
      route,
      bytes: files.reduce((sum, file) => sum + sizeOf(file), 0),
    }))
    .sort((one, other) => one.route.localeCompare(other.route));
}

/** The limit of a route, in bytes. */
export function budgetOf(route: string): number {
  const [, kilobytes] = Object.entries(BUDGETS)
    .filter(([begin]) => route === begin || route.startsWith(begin.endsWith('/') ? begin : `${begin}/`))
    .reduce((longest, one) => (one[0].length > longest[0].length ? one : longest));
  return kilobytes * 1000;
}

/** One sentence for each route that loads more than it may; none is good. */
export function overBudget(sizes: readonly RouteSize[]): string[] {
  return sizes
    .filter(({ route, bytes }) => bytes > budgetOf(route))
    .map(({ route, bytes }) => {
      const may = budgetOf(route);
      return `${route} loads ${bytes} bytes of JavaScript (gzip): ${bytes - may} more than its ${may} (scripts/package/route-sizes.ts).`;
    });
}

if (process.argv[1] === fileURLToPath(import.meta.url)) {
  const sizes = routeSizes();
  for (const { route, bytes } of sizes) console.log(`${String(bytes).padStart(8)} of ${budgetOf(route)}  ${route}`);
  const over = overBudget(sizes);
  for (const line of over) console.error(line);
  if (over.length > 0) process.exitCode = 1;
}
