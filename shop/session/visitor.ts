import { cookies, headers } from 'next/headers.js';
import { connection } from 'next/server.js';
import type { Principal } from 'oncekit';
import { accountOf } from './accounts.ts';
import { cookieName } from './cookie.ts';
import { openSession, SESSION_COOKIE, type Session, sessionCookie } from './session.ts';
import { hasEnded } from './session-end.ts';

export const TENANT = 'demo';

/**
 * The session that the request's cookie says, which may be over: for its name on the page, and for a sign-in. The proxy
 * has set one before any page renders.
 */
export async function claimedSession(): Promise<Session | null> {
  await connection(); // opening a seal looks at the clock, which no prerendering may do
  return openSession((await cookies()).get(cookieName(SESSION_COOKIE, await headers()))?.value);
}

/** The session of the current request; null when it is over. */
export async function currentSession(): Promise<Session | null> {
  const session = await claimedSession();
  return session && !(await hasEnded({ id: session.shopperId, account: session.account })) ? session : null;
}

/** Writes the session into the answer. Only in actions and route handlers. */
export async function saveSession(session: Session): Promise<void> {
  (await cookies()).set(await sessionCookie(session, await headers()));
}

/**
 * The principal of the current request: an API client by its token, else the account that has signed in, else the
 * anonymous shopper. A token that nobody has is nobody: it must not fall back to the cookie.
 */
export async function currentPrincipal(): Promise<Principal | null> {
  // Other schemes are not ours: a proxy in front of the demo may ask for a password of its own.
  const [, token] = /^bearer +(.*)$/i.exec((await headers()).get('authorization') ?? '') ?? [];
  if (token !== undefined) {
    const account = accountOf(token);
    return account ? { tenant: TENANT, principal: account } : null;
  }
  const session = await currentSession();
  return session && principalOf(session);
}

/** A key that was minted for the anonymous shopper stays valid for a while when the shopper signs in (K2). */
export function principalOf({ shopperId, account, alias }: Session): Principal {
  if (!account) return { tenant: TENANT, principal: shopperId, isAnonymous: true };
  const aliases = alias && alias.until > Date.now() ? [alias.shopperId] : [];
  return { tenant: TENANT, principal: account, aliases };
}
