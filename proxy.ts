import { type NextRequest, NextResponse } from 'next/server';
import { ADMIN_COOKIE, renewedAdminCookie } from './shop/admin/seal.ts';
import { isHttps } from './shop/env.ts';
import { cookieName } from './shop/session/cookie.ts';
import { NOTHING_HEADER, nothingHere } from './shop/session/nothing-here.ts';
import { newNonce, pagePolicy } from './shop/session/page-security.ts';
import { refuseForm } from './shop/session/posted-form.ts';
import { newSession, openSession, SESSION_COOKIE, type Session, sessionCookie } from './shop/session/session.ts';
import { hasEnded } from './shop/session/session-end.ts';

const POLICY = 'content-security-policy';

/**
 * Gives every page its security policy, and every visitor a session before the first page renders: the keys in its
 * forms are signed for that session. Both go into the request, for the page that renders now, and into the answer.
 */
export async function proxy(request: NextRequest): Promise<Response> {
  const refused = await refuseForm(request);
  if (refused) return refused;
  if (NO_PAGE.test(request.nextUrl.pathname)) return NextResponse.next();
  // Tokens are for the API and for scripts: a page and a plain form know their visitor by the cookie alone.
  if (!request.headers.has('next-action')) request.headers.delete('authorization');
  const [{ known, cookie, isKept }, admin] = [await sessionOf(request), await adminOf(request)];
  for (const each of [cookie, admin]) if (each) request.cookies.set(each.name, each.value);
  const policy = pagePolicy(newNonce(), {
    isHttps: isHttps(request.headers),
    isDevelopment: process.env.NODE_ENV === 'development',
  });
  request.headers.set(POLICY, policy);
  const nothing = await nothingFor(request, known);
  if (nothing) request.headers.set(NOTHING_HEADER, nothing);
  const init = { request: { headers: request.headers } };
  // No page has this address.
  const elsewhere = new URL(`/nothing${request.nextUrl.pathname}`, request.url);
  const response = nothing ? NextResponse.rewrite(elsewhere, init) : NextResponse.next(init);
  response.headers.set(POLICY, policy);
  if (cookie && isKept) response.cookies.set(cookie);
  if (admin) response.cookies.set(admin);
  return response;
}

/**
 * A new visitor's session; also of one whose session is over. Not for a form: it says so itself, and loses nothing.
 *
 * `isKept`: the browser keeps it. What a page fetches may have been sent before the sign-in or sign-out that ended its
 * session, and its answer come behind that one's: a session in it would take the place of the one that has begun.
 */
async function sessionOf(request: NextRequest) {
  const claimed = await openSession(request.cookies.get(cookieName(SESSION_COOKIE, request.headers))?.value);
  if (claimed && (request.method !== 'GET' || !(await isOver(claimed)))) return { known: claimed };
  const cookie = await sessionCookie(newSession(), request.headers);
  return { known: null, cookie, isKept: !(claimed && isFetched(request)) };
}

/** Asked for by a page that runs, not by the browser itself. */
const isFetched = ({ headers }: NextRequest) => headers.get('sec-fetch-dest') === 'empty';

/** Of a page that the browser itself opens. */
async function nothingFor(request: NextRequest, session: Session | null) {
  if (request.method !== 'GET' || isFetched(request)) return undefined;
  const maySeeAll = request.cookies.has(cookieName(ADMIN_COOKIE, request.headers));
  return await nothingHere(request.nextUrl.pathname, { session, maySeeAll });
}

/** Without the database nobody knows; the page then says so in words. */
function isOver({ shopperId, account }: Session): Promise<boolean> {
  return hasEnded({ id: shopperId, account }).catch(() => false);
}

/** The admin's session, prolonged by looking at a page. Never by a form: signing out would be undone. */
async function adminOf(request: NextRequest) {
  if (request.method !== 'GET' || !request.nextUrl.pathname.startsWith('/admin')) return undefined;
  return renewedAdminCookie(request.cookies.get(cookieName(ADMIN_COOKIE, request.headers))?.value, request.headers);
}

/** Where no page is, Next reads a posted form all the same, for the page that says so. */
const NO_PAGE = /^\/(_next\/|favicon\.ico$|icon\.svg$)/;

/** All but the API: its client has a token, and a status question without a session is nobody's. */
export const config = { matcher: ['/((?!api/|_next/static/).*)'] };
