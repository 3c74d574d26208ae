/**
 * Where the kit refuses what a developer's machine may have, and where errors tell less. Only Next.js sets NODE_ENV by itself, so
 * a worker, a script or a command that nobody has told otherwise is production.
 */
export function isProduction(): boolean {
  return process.env.NODE_ENV !== 'development' && process.env.NODE_ENV !== 'test';
}

/** The end of a refusal that only production makes. */
export const ELSEWHERE = 'If this is not production, set NODE_ENV=development.';
