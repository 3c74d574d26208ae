type Module = typeof import('../recovery/recovery.ts');

/** Longer than a slow network takes for a small file. */
const TIMEOUT_MS = 10_000;

/** The recovery, once it is loaded. Only rare states need it. */
export let recoveryModule: Module | undefined;

/**
 * Never throws: the broken network may be the reason for the call. The next call tries again. The race is by hand, because
 * `settleWithin` of core/wait.ts is too large for the first load.
 */
export async function loadRecovery(): Promise<void> {
  const late = new Promise<undefined>((resolve) => setTimeout(resolve, TIMEOUT_MS));
  const loaded = import('../recovery/recovery.ts').catch(() => undefined);
  recoveryModule ??= await Promise.race([loaded, late]);
}
