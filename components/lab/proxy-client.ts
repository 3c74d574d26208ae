import type { Side } from '../../shop/lab/crash.ts';
import type { Preset } from '../../shop/lab/presets.ts';

/** A request as the fault proxy has seen it. Times are ISO 8601. */
export interface SeenRequest {
  id: number;
  at: string;
  method: string;
  path: string;
  fault: string | null;
  outcome: string;
  status: number | null;
  /** When the app had it, when the app began to answer, and when all was over. */
  atAppAt: string | null;
  fromAppAt: string | null;
  overAt: string | null;
}

/** Which requests are whose: the kit's form posts to its own page, the other one to its endpoint. */
const POSTS: Record<Side, { method: string; path: string }> = {
  with: { method: 'POST', path: '/lab*' },
  without: { method: 'POST', path: '/api/lab/plain' },
};
const QUESTIONS = '/api/idempotency/*';

/** Breaks the network as the preset says, for this run's requests alone. False: this page came another way. */
export async function breakNetwork(run: string, { faults }: Preset): Promise<boolean> {
  if (!(await requestsOf(run))) return false;
  for (const { side, isCutOff, ...fault } of faults) {
    for (const each of side ? [side] : (['with', 'without'] as const)) await addRule(run, POSTS[each], fault);
    if (isCutOff) await addRule(run, { path: QUESTIONS }, fault);
  }
  return true;
}

/** The proxy's view of this run; null where there is no proxy. */
export async function requestsOf(run: string): Promise<SeenRequest[] | null> {
  const answer = await fetch(`/__proxy/log?visitor=${run}`, { cache: 'no-store' });
  return answer.ok ? await answer.json() : null;
}

/** The requests of one column: its posts, and what the kit asks about its key. */
export function requestsOn(side: Side, seen: readonly SeenRequest[]): SeenRequest[] {
  return seen.filter(({ path, method }) => {
    if (path.startsWith('/api/idempotency/')) return side === 'with';
    const isKit = method === 'POST' && path.startsWith('/lab');
    return side === 'with' ? isKit : path === POSTS.without.path;
  });
}

/** How many posts of a column have arrived at the app. */
export function arrived(side: Side, seen: readonly SeenRequest[]): number {
  return requestsOn(side, seen).filter(({ method, atAppAt }) => method === 'POST' && atAppAt !== null).length;
}

async function addRule(visitor: string, match: { method?: string; path: string }, fault: object): Promise<void> {
  const body = JSON.stringify({ ...fault, match: { ...match, visitor } });
  const answer = await fetch('/__proxy/faults', { method: 'POST', body });
  if (!answer.ok) throw new Error(`The fault proxy refused: ${await answer.text()}`);
}
