import { createHash } from 'node:crypto';
import { setTimeout as sleep } from 'node:timers/promises';
import { sealData, unsealData } from 'iron-session';
import { cookies, headers } from 'next/headers.js';
import { connection } from 'next/server.js';
import { sameSecret } from './accounts.ts';
import { isHttps, required } from './env.ts';

export const ADMIN_COOKIE = 'oncekit_admin';

const LIFETIME_S = 8 * 3600;
const WINDOW_MS = 60_000;
const MAX_FAILURES = 10;
const DELAY_MS = 500;

/** When wrong passwords were given, in the last minute. For this process alone: enough for a demo on one machine. */
const failures: number[] = [];

/** Whether the current request comes from an admin. Asked by every admin page and action itself, not by the proxy. */
export async function isAdmin(): Promise<boolean> {
  const seal = (await cookies()).get(ADMIN_COOKIE)?.value;
  if (!seal) return false;
  await connection(); // as for every seal: see visitor.ts
  const { admin } = await unsealData<{ admin?: boolean }>(seal, sealing()).catch(() => ({ admin: false }));
  return admin === true;
}

export type SignInResult = 'signed-in' | 'wrong' | 'too-many';

/** Signs the admin in. A wrong password is answered late, and after ten in a minute none is looked at any more. */
export async function signInAdmin(password: string): Promise<SignInResult> {
  const now = Date.now();
  while (failures[0] !== undefined && failures[0] < now - WINDOW_MS) failures.shift();
  if (failures.length >= MAX_FAILURES) return 'too-many';
  if (!sameSecret(required('ADMIN_PASSWORD'), password)) {
    // Counted before the wait: a hundred attempts at once must not all get in front of the count.
    failures.push(now);
    await sleep(DELAY_MS);
    return 'wrong';
  }
  (await cookies()).set({
    name: ADMIN_COOKIE,
    value: await sealData({ admin: true }, sealing()),
    httpOnly: true,
    sameSite: 'strict',
    secure: isHttps(await headers()),
    path: '/',
    maxAge: LIFETIME_S,
  });
  return 'signed-in';
}

export async function signOutAdmin(): Promise<void> {
  (await cookies()).delete(ADMIN_COOKIE);
}

/** A key of its own, made of both secrets: a shopper's cookie is no admin's, and a new password ends every session. */
function sealing() {
  const password = createHash('sha256')
    .update(`oncekit admin session\0${required('SESSION_SECRET')}\0${required('ADMIN_PASSWORD')}`)
    .digest('base64');
  return { password, ttl: LIFETIME_S };
}
