const told = new WeakSet<object>();

/** Says it on the console, in development, once about that thing. */
export function warnOnce(about: object, words: () => string): void {
  if (process.env.NODE_ENV !== 'development' || told.has(about)) return;
  told.add(about);
  console.warn(`[oncekit] ${words()}`);
}
