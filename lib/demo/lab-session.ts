import { cookies, headers } from 'next/headers.js';
import { openSession, SESSION_COOKIE, sessionCookie } from './session.ts';

/** The session that has "expired", sealed as before, for as long as a play may take. */
const PARKED = 'oncekit_lab_session';
const PARKED_S = 300;

/**
 * Ends the visitor's session, as its expiry would; or gives the same one back, as signing in again does. A session that
 * somebody has begun meanwhile gives way.
 */
export async function parkSession(ends: boolean): Promise<void> {
  const jar = await cookies();
  const [from, to] = ends ? [SESSION_COOKIE, PARKED] : [PARKED, SESSION_COOKIE];
  const session = await openSession(jar.get(from)?.value);
  if (!session) return;
  const cookie = await sessionCookie(session, await headers());
  jar.delete(from);
  jar.set({ ...cookie, name: to, ...(ends ? { path: '/api/lab', maxAge: PARKED_S } : {}) });
  // A cookie is deleted where it was set.
  if (!ends) jar.set({ name: PARKED, value: '', path: '/api/lab', maxAge: 0 });
}
