import { pathToFileURL } from 'node:url';

/**
 * Runs `work` on DATABASE_URL when this module is the program that was started, and not when it is imported. What goes
 * wrong is one sentence on standard error.
 *
 * @param module `import.meta.url`
 */
export async function onDatabase(module: string, work: (url: string) => Promise<void>): Promise<void> {
  if (!process.argv[1] || module !== pathToFileURL(process.argv[1]).href) return;
  const url = process.env.DATABASE_URL;
  const example = 'DATABASE_URL=postgresql://user:password@localhost:5432/shop';
  try {
    if (!url) throw new Error(`DATABASE_URL is not set. Example: ${example}`);
    await work(url);
  } catch (error) {
    console.error(error instanceof Error ? error.message : error);
    process.exitCode = 1;
  }
}
