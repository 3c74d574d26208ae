import type { Claim, KeyRow } from '../../store.ts';
import type { RawQueries } from '../client.ts';
import { find } from './find.ts';
import { judgeWindow } from './window.ts';

/** How often a claim is tried again whose rival's row was gone before it could be read (C3). */
export const MAX_CLAIMS = 3;

/** What was in the way of a claim. `vanished`: a row that is gone again, so the claim may be tried once more. */
export type Rival = { kind: 'existing'; row: KeyRow } | { kind: 'expired' | 'early' | 'locked' } | 'vanished';

/** What was in the way, in a statement of its own, behind the one that waited for it. */
export async function rivalOf(db: RawQueries, claim: Claim): Promise<Rival> {
  const row = await find(db, claim);
  if (row) return { kind: 'existing', row };
  const verdict = await judgeWindow(db, claim);
  if (verdict !== 'open') return { kind: verdict };
  return claim.waitMs > 0 ? 'vanished' : { kind: 'locked' };
}
