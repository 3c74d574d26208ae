import { logAudit } from '../log.ts';
import { admin } from './admin.ts';
import type { Tried } from './password.ts';

/** Says that nobody knows from which address a request comes: no proxy is trusted to tell. */
export const NO_ADDRESS = 'anybody';

/** Who signs in is nobody's customer. */
const ALL = { tenant: null };

/**
 * Records that somebody tried to sign in as the admin, and from where. What was not even looked at leaves a line in the log
 * alone: a flood must not fill the table.
 */
export async function recordSignIn(tried: Tried, address: string): Promise<void> {
  const from = address === NO_ADDRESS ? {} : { detail: { address: address.slice(0, 64) } };
  if (tried === 'right') await admin(ALL).record({ type: 'signed_in', actor: 'admin', ...from });
  else if (tried === 'wrong') await admin(ALL).record({ type: 'sign_in_failed', actor: 'somebody', ...from });
  else logAudit({ level: 'info', msg: 'audit: sign_in_not_tried', actor: 'somebody', ...from });
}

/** Records that the admin has signed out. */
export async function recordSignOut(): Promise<void> {
  await admin(ALL).record({ type: 'signed_out', actor: 'admin' });
}
