import { VARIANTS, type Variant } from '../../shop/variants.ts';

/** A build of the demo, and the end-to-end tests that run on it: Playwright's arguments. */
interface BuildOfRun {
  variant: Variant;
  which: readonly string[];
}

/** The settings may differ from build to build. */
const OF_EACH_BUILD = ['matrix', 'client-chunks', 'no-javascript', 'use-offline', 'static-shell', 'shared-keys'].map(
  (name) => `${name}.e2e`,
);
/** Each form in the wild beside its bare twin, also where Next keeps pages that are left. */
const WITH_CACHE_COMPONENTS: BuildOfRun = {
  variant: { cacheComponents: true, useOffline: false },
  which: ['wild-twins.e2e'],
};

/** The builds that a command needs, one behind the other. `own`: the one of the environment, and what is asked for on it. */
export function buildsOf(command: 'all' | 'matrix' | 'other', own: BuildOfRun): BuildOfRun[] {
  if (command === 'matrix') return VARIANTS.map((variant) => ({ variant, which: OF_EACH_BUILD }));
  return command === 'all' ? [own, WITH_CACHE_COMPONENTS] : [own];
}
