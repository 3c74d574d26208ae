import { createHash, randomUUID } from 'node:crypto';
import { sealData, unsealData } from 'iron-session';
import { required } from '../env.ts';
import { hostCookie } from '../session/cookie.ts';

/** An admin who has signed in. Times in milliseconds since 1970. */
export interface AdminSession {
  id: string;
  since: number;
  /** When a page was last looked at. */
  seen: number;
}

export const ADMIN_COOKIE = 'oncekit_admin';

/** A session ends when no page was looked at for so long. */
export const IDLE_MS = 30 * 60_000;
/** And after so long however busy it is. */
export const LIFETIME_MS = 8 * 3_600_000;
/** Not each request needs a new cookie. */
const RENEW_MS = 60_000;
/** No link and no form of another site comes with it. */
const STRICT = 'strict';

export function newAdminSession(now = Date.now()): AdminSession {
  return { id: randomUUID(), since: now, seen: now };
}

/** The session in a cookie's value; null when it is over, or was not sealed by us. */
export async function openAdminSession(seal: string | undefined, now = Date.now()): Promise<AdminSession | null> {
  if (!seal) return null;
  // A seal that is not even one throws; it is nobody's all the same.
  const found = await unsealData<Partial<AdminSession>>(seal, sealing('session')).catch(
    (): Partial<AdminSession> => ({}),
  );
  const { id, since, seen } = found;
  if (!id || since === undefined || seen === undefined) return null;
  return now - seen < IDLE_MS && now - since < LIFETIME_MS ? { id, since, seen } : null;
}

/** The session as a cookie. `headers` are those of the request. */
export async function adminCookie(session: AdminSession, headers: Headers) {
  const value = await sealData(session, sealing('session'));
  return hostCookie({ name: ADMIN_COOKIE, value, sameSite: STRICT, lifetimeMs: LIFETIME_MS }, headers);
}

/** A cookie that takes the session's place, and is gone at once. */
export function noAdminCookie(headers: Headers) {
  return hostCookie({ name: ADMIN_COOKIE, value: '', sameSite: STRICT, lifetimeMs: 0 }, headers);
}

/** A cookie that prolongs the session in this one; none where there is no session, or where it was prolonged just now. */
export async function renewedAdminCookie(seal: string | undefined, headers: Headers, now = Date.now()) {
  const session = await openAdminSession(seal, now);
  return session && now - session.seen >= RENEW_MS ? adminCookie({ ...session, seen: now }, headers) : undefined;
}

export const DEVICE_COOKIE = 'oncekit_admin_device';
const DEVICE_MS = 180 * 24 * 3_600_000;

/** Tells a browser in which the admin has signed in before. It opens nothing. */
export async function deviceCookie(device: string, headers: Headers) {
  const value = await sealData({ device }, sealing('device'));
  return hostCookie({ name: DEVICE_COOKIE, value, sameSite: STRICT, lifetimeMs: DEVICE_MS }, headers);
}

/** The device in a cookie's value; undefined when it was not sealed by us. */
export async function openDevice(seal: string | undefined): Promise<string | undefined> {
  if (!seal) return undefined;
  const { device } = await unsealData<{ device?: string }>(seal, sealing('device')).catch(
    (): { device?: string } => ({}),
  );
  return device;
}

/**
 * Keys of their own, made of both secrets: a shopper's cookie is no admin's, a device's is no session's, and a new
 * password ends every session.
 */
function sealing(purpose: 'session' | 'device') {
  const password = createHash('sha256')
    .update(`oncekit admin ${purpose}\0${required('SESSION_SECRET')}\0${required('ADMIN_PASSWORD')}`)
    .digest('base64');
  return { password, ttl: 0 }; // the times are in the seal
}
