/**
 * Where the kit refuses what a developer's machine may have, and where errors tell less. Only Next.js sets NODE_ENV by itself, so
 * a worker, a script or a command that nobody has told otherwise is production.
 */
export function isProduction(): boolean {
  return process.env.NODE_ENV !== 'development' && process.env.NODE_ENV !== 'test';
}

/** The end of a refusal that only production makes. */
export const ELSEWHERE = 'If this is not production, set NODE_ENV=development.';

const warned = new WeakMap<object, Set<string>>();

/** Says it on the console, in development, once about that thing for each topic. */
export function warnOnce(about: object, topic: string, words: () => string): void {
  if (process.env.NODE_ENV !== 'development') return;
  const topics = warned.get(about) ?? new Set();
  if (topics.has(topic)) return;
  warned.set(about, topics.add(topic));
  console.warn(`[oncekit] ${words()}`);
}
