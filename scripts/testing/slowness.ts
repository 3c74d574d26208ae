import { execFile } from 'node:child_process';
import { promisify } from 'node:util';

const STARTS = 5;
/** These starts of Node take so long on the machine that the bounds of tests were written on, with nothing besides. */
const REFERENCE_MS = 320;
const [LEAST, MOST] = [1, 8];

/** How much slower this machine is at this moment, other work included: what tests wait for may take that much longer. */
export async function measureSlowness(): Promise<number> {
  const began = performance.now();
  for (let n = 0; n < STARTS; n++) await promisify(execFile)(process.execPath, ['--eval', '']);
  return slownessOf(performance.now() - began);
}

/** The factor for so many milliseconds, between 1 and 8, to a tenth. */
export function slownessOf(ms: number): number {
  return Math.min(MOST, Math.max(LEAST, Math.round((10 * ms) / REFERENCE_MS) / 10));
}
