import type { CrashPoint } from 'oncekit';

/** The two columns of the lab. */
export type Side = 'with' | 'without';

interface Crash {
  /** The run of the lab that asked for it, and the key of its form. */
  run: string;
  key: string;
  point: CrashPoint;
  /** A plan that nobody runs into is forgotten. Milliseconds since 1970. */
  until: number;
  /** Resolves once both columns stand at the point. */
  both: Promise<void>;
  arrived: Map<Side, () => void>;
}

const FORGOTTEN_MS = 30_000;
/** One column may have failed before it came here: the crash does not wait for it for ever. */
const PATIENCE_MS = 1500;

// On `globalThis`: Next evaluates a module once for pages and actions and once more for route handlers. In memory, so
// that the crash itself forgets the plan: a process dies once.
const held = globalThis as { oncekitLabCrashes?: Map<string, Crash> };
held.oncekitLabCrashes ??= new Map();
const plans = held.oncekitLabCrashes;

/** Has this process die when both columns of this run stand at `point`. Each run has one plan; the next one replaces it. */
export function planCrash({ run, key, point }: Pick<Crash, 'run' | 'key' | 'point'>): void {
  const now = Date.now();
  for (const [name, plan] of plans) if (plan.until < now) plans.delete(name);
  const arrived: Crash['arrived'] = new Map();
  const both = Promise.all(
    (['with', 'without'] as const).map((side) => new Promise<void>((resolve) => arrived.set(side, resolve))),
  ).then(() => {});
  plans.set(run, { run, key, point, until: now + FORGOTTEN_MS, both, arrived });
}

/** Where a column of the lab may be asked to die. Returns at once where nobody has asked. */
export async function atCrashPoint(
  side: Side,
  at: { run: string } | { key: string },
  point: CrashPoint,
): Promise<void> {
  if (plans.size === 0) return;
  const plan = [...plans.values()].find((each) => ('run' in at ? each.run === at.run : each.key === at.key));
  if (!plan || plan.point !== point || plan.until < Date.now()) return;
  plan.arrived.get(side)?.();
  await Promise.race([plan.both, new Promise((resolve) => setTimeout(resolve, PATIENCE_MS))]);
  await die();
}

/** kill -9 of this process. Never returns. */
export async function die(): Promise<never> {
  process.kill(process.pid, 'SIGKILL');
  // The signal arrives between two ticks; nothing of the execution may happen before it.
  return await new Promise<never>(() => {});
}
