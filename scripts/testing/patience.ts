/** How much slower this machine is than the one that bounds of tests were written on, as set-up has measured: from 1 to 8. */
export const SLOWNESS = Number(globalThis.process?.env.TEST_SLOWNESS ?? 1);

/** A bound of a test in whole milliseconds, as this machine needs it. Bounds of the product stay as they are. */
export const bound = (ms: number): number => Math.ceil(ms * SLOWNESS);

/** How long a test waits for a condition. What has not come by then never will; a test that passes never waits so long. */
export const PATIENCE_MS = bound(20_000);
