import { setTimeout as wait } from 'node:timers/promises';
import { PATIENCE_MS } from './patience.ts';

/** Waits for a condition, and says which one did not come. */
export async function until(what: string, holds: () => Promise<boolean>): Promise<void> {
  const deadline = performance.now() + PATIENCE_MS;
  while (!(await holds())) {
    if (performance.now() > deadline) throw new Error(`Waited ${PATIENCE_MS / 1000} s until ${what}.`);
    await wait(5);
  }
}
