import { randomUUID } from 'node:crypto';
import { sealData, unsealData } from 'iron-session';
import { required } from '../env.ts';
import { hostCookie } from './cookie.ts';

/** The current visitor. Signing in and signing out begin a new session under a new id. */
export interface Session {
  /** Names the session; and the shopper, while nobody has signed in. */
  shopperId: string;
  /** The account that has signed in. */
  account?: string;
  /** The anonymous shopper who has signed in, for as long as a lost answer may still be asked for. */
  alias?: { shopperId: string; until: number };
}

export const SESSION_COOKIE = 'oncekit_session';
/** No cookie of a session is valid for longer. */
export const SESSION_MS = 180 * 24 * 3_600_000;

export function newSession(): Session {
  return { shopperId: randomUUID() };
}

/** The session in a cookie's value; null when there is none, or when it was not sealed by us. */
export async function openSession(seal: string | undefined): Promise<Session | null> {
  if (!seal) return null;
  // A seal that is not even one throws; it is nobody's all the same.
  const { shopperId, account, alias } = await unsealData<Partial<Session>>(seal, sealing()).catch(
    (): Partial<Session> => ({}),
  );
  return shopperId ? { shopperId, ...(account ? { account } : {}), ...(alias ? { alias } : {}) } : null;
}

/** The session as a cookie. `headers` are those of the request. */
export async function sessionCookie(session: Session, headers: Headers) {
  const value = await sealData(session, sealing());
  // Lax: a link from elsewhere shows the shopper's own pages, a form from elsewhere comes without the cookie.
  return hostCookie({ name: SESSION_COOKIE, value, sameSite: 'lax', lifetimeMs: SESSION_MS }, headers);
}

function sealing() {
  return { password: required('SESSION_SECRET'), ttl: SESSION_MS / 1000 };
}
