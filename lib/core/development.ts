const warned = new WeakMap<object, Set<string>>();

/** Says it on the console, in development, once about that thing for each topic. */
export function warnOnce(about: object, topic: string, words: () => string): void {
  if (process.env.NODE_ENV !== 'development') return;
  const topics = warned.get(about) ?? new Set();
  if (topics.has(topic)) return;
  warned.set(about, topics.add(topic));
  console.warn(`[oncekit] ${words()}`);
}
