import { redirect } from 'next/navigation';
import { isAdmin } from '../../lib/demo/admin-session.ts';

/**
 * Sends everybody but an admin to the sign-in page. Called by each admin page and action itself: a layout does not run
 * again when one navigates, and a proxy may be configured away.
 */
export async function requireAdmin(): Promise<void> {
  if (!(await isAdmin())) redirect('/admin/sign-in');
}
