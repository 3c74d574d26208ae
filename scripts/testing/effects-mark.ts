/**
 * Begins what a failure says of effects that were counted: done twice, lost, or at odds with the answer. Such a failure is
 * never taken for a flaky test. `expectCounted` writes it, in Vitest (`expect-counted.ts`) and in Playwright (`e2e/fixtures`).
 */
export const COUNTED = 'Effects counted';
