type Commit = () => Promise<unknown>;

// On the global object: a bundler may give the app's client, whose pool asks, and its pages a copy of this module each.
const PENDING = Symbol.for('oncekit.pending-commits');
const shared = globalThis as { [PENDING]?: Set<Commit> };
shared[PENDING] ??= new Set();
const pending = shared[PENDING];

/**
 * Registers a transaction that is ready and not yet committed. Whoever asks for a connection next may read what it has
 * written, so that request commits it first, and waits for it.
 *
 * @returns removes it
 */
export function addPendingCommit(commit: Commit): () => void {
  pending.add(commit);
  return () => void pending.delete(commit);
}

/** Commits whatever is pending; undefined where nothing is. Never rejects: the owner of a transaction learns its failure. */
export function flushPendingCommits(): Promise<unknown> | undefined {
  if (pending.size === 0) return undefined;
  const commits = [...pending];
  pending.clear();
  return Promise.allSettled(commits.map((commit) => commit()));
}
