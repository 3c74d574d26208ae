import { type Cluster, portOf } from './cluster.ts';

/** How long an app may meet a server that takes no writes: before the address leads to the new one, and behind that. */
const STALE_MS = { before: 500, behind: 1000 };

/**
 * Failures of a primary whose changes do not arrive at the standby any more. Each ends with the standby promoted, and the
 * apps' address leading to it.
 */
export const FAILURES = {
  /** Nobody hears anything of the primary any more, which lives on: promotion alone fences it. */
  silent: async (cluster: Cluster) => {
    cluster.apps.fallSilent();
    await promoted(cluster);
  },
  /** Every connection breaks, and none is made until there is another primary. */
  reset: async (cluster: Cluster) => {
    cluster.apps.reset();
    await promoted(cluster);
  },
  'kill -9': async (cluster: Cluster) => {
    await cluster.primary.kill();
    await promoted(cluster);
  },
  /** It comes back, with what it had, and takes no writes: apps connect to it, and some stay there for a while. */
  'read-only': async (cluster: Cluster) => {
    await cluster.primary.kill();
    await cluster.reviveReadOnly();
    const stale = portOf(cluster.primary);
    cluster.apps.leadTo(stale);
    await cluster.apps.untilMetBy(stale, 20, STALE_MS.before);
    await promoted(cluster);
    setTimeout(() => cluster.apps.reset(stale), STALE_MS.behind);
  },
} satisfies Record<string, (cluster: Cluster) => Promise<void>>;

export type Failure = keyof typeof FAILURES;

async function promoted(cluster: Cluster): Promise<void> {
  await cluster.promote();
  cluster.apps.leadTo(portOf(cluster.primary));
}
