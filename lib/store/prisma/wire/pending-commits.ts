const withheld = new Set<() => Promise<unknown>>();

/**
 * A transaction is ready and not committed: what it has written may be asked for by whatever asks for a connection next,
 * so that has to wait until it is. Returns what ends that.
 */
export function withhold(commit: () => Promise<unknown>): () => void {
  withheld.add(commit);
  return () => void withheld.delete(commit);
}

/** Commits whatever is withheld; undefined where nothing is. Never rejects: who has withheld it hears of its failure. */
export function commitWithheld(): Promise<unknown> | undefined {
  if (withheld.size === 0) return undefined;
  const commits = [...withheld];
  withheld.clear();
  return Promise.allSettled(commits.map((commit) => commit()));
}
