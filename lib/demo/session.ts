import { randomUUID } from 'node:crypto';
import { sealData, unsealData } from 'iron-session';
import { isHttps, required } from './env.ts';

/** Who visits. The shopper id is there from the first page view on and survives signing in. */
export interface Session {
  shopperId: string;
  /** The account that has signed in. */
  account?: string;
}

export const SESSION_COOKIE = 'oncekit_session';

const LIFETIME_S = 180 * 24 * 3600;

export function newSession(): Session {
  return { shopperId: randomUUID() };
}

/** The session in a cookie's value; null when there is none, or when it was not sealed by us. */
export async function openSession(seal: string | undefined): Promise<Session | null> {
  if (!seal) return null;
  // A seal that is not even one throws; it is nobody's all the same.
  const { shopperId, account } = await unsealData<Partial<Session>>(seal, sealing()).catch(
    (): Partial<Session> => ({}),
  );
  return shopperId ? { shopperId, ...(account ? { account } : {}) } : null;
}

/** The session as a cookie. `headers` are those of the request. */
export async function sessionCookie(session: Session, headers: Headers) {
  return {
    name: SESSION_COOKIE,
    value: await sealData(session, sealing()),
    httpOnly: true,
    // Lax: a link from elsewhere shows the shopper's own pages, a form from elsewhere comes without the cookie.
    sameSite: 'lax' as const,
    secure: isHttps(headers),
    path: '/',
    maxAge: LIFETIME_S,
  };
}

function sealing() {
  return { password: required('SESSION_SECRET'), ttl: LIFETIME_S };
}
