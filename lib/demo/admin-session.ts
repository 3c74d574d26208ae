import { randomUUID } from 'node:crypto';
import { cookies, headers } from 'next/headers.js';
import { connection } from 'next/server.js';
import { type Tried, tryPassword } from './admin-password.ts';
import {
  ADMIN_COOKIE,
  adminCookie,
  DEVICE_COOKIE,
  deviceCookie,
  LIFETIME_MS,
  newAdminSession,
  openAdminSession,
  openDevice,
} from './admin-seal.ts';
import { db } from './db.ts';
import { safeNext } from './next-path.ts';

const HOME = '/admin/keys';

/** Whether the current request comes from an admin. Asked by every admin page and action itself, not by the proxy. */
export async function isAdmin(): Promise<boolean> {
  const seal = (await cookies()).get(ADMIN_COOKIE)?.value;
  if (!seal) return false;
  await connection(); // as for every seal: see visitor.ts
  const session = await openAdminSession(seal);
  return session !== null && (await db().rateLimit.findUnique({ where: { key: signedOut(session.id) } })) === null;
}

/** Signs the admin in, if the password is right and may be looked at. */
export async function signInAdmin(password: string): Promise<Tried> {
  const [asked, jar] = [await headers(), await cookies()];
  const device = await openDevice(jar.get(DEVICE_COOKIE)?.value);
  const tried = await tryPassword(password, { address: addressOf(asked), device });
  if (tried !== 'right') return tried;
  jar.set(await adminCookie(newAdminSession(), asked));
  jar.set(await deviceCookie(device ?? randomUUID(), asked));
  return tried;
}

/** Ends the session for good: a copy of its cookie, or a page that prolongs it just now, opens nothing any more. */
export async function signOutAdmin(): Promise<void> {
  const jar = await cookies();
  const session = await openAdminSession(jar.get(ADMIN_COOKIE)?.value);
  jar.delete(ADMIN_COOKIE);
  if (!session) return;
  const key = signedOut(session.id);
  const expire = BigInt(session.since + LIFETIME_MS);
  await db().rateLimit.upsert({ where: { key }, create: { key, points: 1, expire }, update: {} });
}

/** Where to go on after signing in: a page of the admin view, never elsewhere. */
export function adminPath(next: unknown): string {
  const path = safeNext(next);
  return /^\/admin\/(?!sign-in)/.test(path) ? path : HOME;
}

/** Kept among the limits, whose rows are swept away when they expire. */
function signedOut(id: string): string {
  return `admin-signed-out:${id}`;
}

/**
 * What the nearest proxy has seen; what stands before it, anybody can write. Without `TRUST_PROXY` there is none, and
 * anybody can write all of it: then all count as one, and a flood keeps new browsers out for as long as it lasts.
 */
function addressOf(asked: Headers): string {
  if (!process.env.TRUST_PROXY) return 'anybody';
  return asked.get('x-forwarded-for')?.split(',').at(-1)?.trim() || 'unknown';
}
