import { KEY_WINDOW_HOURS } from '../api/windows.ts';
import { adoptShopper } from './adoption.ts';
import { newSession, SESSION_MS, type Session } from './session.ts';
import { endSession } from './session-end.ts';

/** A form that the anonymous shopper has opened may be sent for so long, and so its answer may still be asked for. */
const ALIAS_MS = KEY_WINDOW_HOURS * 3_600_000;

/**
 * The session that begins when an account signs in. It has a new id, so that whoever knows the old one, because they have
 * planted or copied the cookie, is not signed in with it.
 *
 * @param known what the request's cookie says, also where that session is over: the answer to a sign-in may have been lost
 */
export async function signedIn(known: Session | null, account: string): Promise<Session> {
  const session = { ...newSession(), account };
  if (!known) return session;
  if (known.account !== undefined) {
    await signedOut(known);
    // A person who signs in over another account is another person: nothing of the first one's goes along.
    return known.account === account && known.alias ? { ...session, alias: known.alias } : session;
  }
  const adoptedAt = await adoptShopper(known.shopperId, account);
  if (!adoptedAt) return session;
  return { ...session, alias: { shopperId: known.shopperId, until: adoptedAt.getTime() + ALIAS_MS } };
}

/** The session that begins when somebody signs out: the next person at this browser has nothing to do with them. */
export async function signedOut(known: Session | null): Promise<Session> {
  if (known) await endSession(known.shopperId, Date.now() + SESSION_MS);
  return newSession();
}
