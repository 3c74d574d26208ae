import { onTestFinished } from 'vitest';

/** Puts the kit's clock forward until the test is over: a time is up where a test has come to, not on its way there. */
export function skipTime(ms: number): void {
  const { now } = performance;
  performance.now = () => now.call(performance) + ms;
  onTestFinished(() => void Object.assign(performance, { now }));
}
