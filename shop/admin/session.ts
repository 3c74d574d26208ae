import { randomUUID } from 'node:crypto';
import { cookies, headers } from 'next/headers.js';
import { connection } from 'next/server.js';
import { cookieName } from '../session/cookie.ts';
import { safeNext } from '../session/next-path.ts';
import { endSession, hasEnded } from '../session/session-end.ts';
import { type Tried, tryPassword } from './password.ts';
import {
  ADMIN_COOKIE,
  adminCookie,
  DEVICE_COOKIE,
  deviceCookie,
  LIFETIME_MS,
  newAdminSession,
  noAdminCookie,
  openAdminSession,
  openDevice,
} from './seal.ts';
import { NO_ADDRESS, recordSignIn, recordSignOut } from './sign-ins.ts';

const HOME = '/admin/keys';

/** Tells whether the current request comes from an admin. Asked by every admin page and action itself, not by the proxy. */
export async function isAdmin(): Promise<boolean> {
  const seal = (await cookies()).get(cookieName(ADMIN_COOKIE, await headers()))?.value;
  if (!seal) return false;
  await connection(); // as for every seal: see visitor.ts
  const session = await openAdminSession(seal);
  return session !== null && !(await hasEnded(session));
}

/** Signs the admin in, if the password is right and may be looked at. */
export async function signInAdmin(password: string): Promise<Tried> {
  const [asked, jar] = [await headers(), await cookies()];
  const device = await openDevice(jar.get(cookieName(DEVICE_COOKIE, asked))?.value);
  const address = addressOf(asked);
  const tried = await tryPassword(password, { address, device });
  await recordSignIn(tried, address);
  if (tried !== 'right') return tried;
  jar.set(await adminCookie(newAdminSession(), asked));
  jar.set(await deviceCookie(device ?? randomUUID(), asked));
  return tried;
}

/** Ends the session for good: a copy of its cookie, or a page that prolongs it just now, opens nothing any more. */
export async function signOutAdmin(): Promise<void> {
  const [asked, jar] = [await headers(), await cookies()];
  const session = await openAdminSession(jar.get(cookieName(ADMIN_COOKIE, asked))?.value);
  jar.set(noAdminCookie(asked));
  if (!session) return;
  await endSession(session.id, session.since + LIFETIME_MS);
  await recordSignOut();
}

/** Where to go on after signing in: a page of the admin view, never elsewhere. */
export function adminPath(next: unknown): string {
  const path = safeNext(next);
  return /^\/admin\/(?!sign-in)/.test(path) ? path : HOME;
}

/**
 * The address that the nearest proxy has seen; anybody can write what stands before it. Without `TRUST_PROXY` there is none, and
 * anybody can write all of it: then all count as one, and a flood keeps new browsers out for as long as it lasts.
 */
function addressOf(asked: Headers): string {
  if (!process.env.TRUST_PROXY) return NO_ADDRESS;
  return asked.get('x-forwarded-for')?.split(',').at(-1)?.trim() || 'unknown';
}
