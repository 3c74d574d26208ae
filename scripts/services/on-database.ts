/**
 * Runs `work` on DATABASE_URL. A failure is one sentence on standard error, and exit code 1.
 */
export async function onDatabase(work: (url: string) => Promise<void>): Promise<void> {
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
