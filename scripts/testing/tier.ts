/**
 * Which tests a run is made of, as scripts/test.ts says in `TIER`: `npm test` the untagged ones, which hold every guarantee
 * once; `npm run test:chaos` those tagged `chaos`, kills, soaks, failovers and hostile requests; `npm run test:all` all, with
 * those tagged `all`, which are more cases of the same. Whoever names files of tests gets all of theirs.
 */
type Tier = 'short' | 'chaos' | 'all';

export const TAGS = ['all', 'chaos'] as const;
export const tier = process.env.TIER as Tier | undefined;

/** True for a test with these tags where it is one of this run. */
export function isChosen(tags: readonly string[]): boolean {
  if (tier === 'short') return tags.length === 0;
  return tier !== 'chaos' || tags.includes('chaos');
}

/** What is left to chance: the same in each run, but for `npm run test:chaos` and `SEED=random`. `SEED=7` has a run again. */
const asked = process.env.SEED ?? (tier === 'chaos' ? 'random' : '1');
export const SEED = asked === 'random' ? Math.floor(Math.random() * 2 ** 31) : Number(asked);

/** To be printed by a test that leaves much to chance. */
export const SEED_SAID = `Seed ${SEED} (SEED=${SEED} does it again)`;
