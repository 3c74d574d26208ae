import { cookies, headers } from 'next/headers.js';
import { cookieName } from '../session/cookie.ts';
import { openSession, SESSION_COOKIE, sessionCookie } from '../session/session.ts';
import { hasEnded } from '../session/session-end.ts';

/** The session that has "expired", sealed as before, for as long as a play may take. */
const PARKED = 'oncekit_lab_session';
const PARKED_S = 300;

/**
 * Ends the visitor's session, as its expiry would; or gives the same one back, as signing in again does. A session that
 * somebody has begun meanwhile gives way.
 */
export async function parkSession(ends: boolean): Promise<void> {
  const [asked, jar] = [await headers(), await cookies()];
  const [from, to] = (ends ? [SESSION_COOKIE, PARKED] : [PARKED, SESSION_COOKIE]).map((name) =>
    cookieName(name, asked),
  );
  const session = await openSession(jar.get(String(from))?.value);
  // What is over, because its shopper has signed in or out meanwhile, is not prolonged.
  if (!session || (await hasEnded({ id: session.shopperId, account: session.account }))) return;
  const cookie = await sessionCookie(session, asked);
  jar.set({ ...cookie, name: String(to), ...(ends ? { maxAge: PARKED_S } : {}) });
  jar.set({ ...cookie, name: String(from), value: '', maxAge: 0 });
}
