/**
 * Which tests a run is made of, as scripts/test.ts says in `TIER`: `npm test` those that hold every guarantee once; `npm run
 * test:all` all; `npm run test:chaos` the end-to-end tests that kill, soak, fail over and attack, and the files of Vitest that do.
 * Tagged `all`: only in test:all. Of Playwright's, `@chaos`: in test:all and test:chaos; `@chaos-short`: in all three. Whoever
 * names files of tests gets all of theirs.
 */
type Tier = 'short' | 'chaos' | 'all';

export const tier = process.env.TIER as Tier | undefined;

/** True for a test of Vitest's with these tags where it is one of this run. */
export const isChosen = (tags: readonly string[]): boolean => tier !== 'short' || !tags.includes('all');

/** Decides all that is left to chance: the same in each run, but in `npm run test:chaos` and with `SEED=random`, which say it. `SEED=7` has a run again. */
export const SEED = Number(process.env.SEED ?? 1);
