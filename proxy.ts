import { type NextRequest, NextResponse } from 'next/server';
import { ADMIN_COOKIE, renewedAdminCookie } from './lib/demo/admin-seal.ts';
import { isHttps } from './lib/demo/env.ts';
import { newNonce, pagePolicy } from './lib/demo/page-security.ts';
import { newSession, openSession, SESSION_COOKIE, sessionCookie } from './lib/demo/session.ts';

const POLICY = 'content-security-policy';

/**
 * Gives every page its security policy, and every visitor a session before the first page renders: the keys in its
 * forms are signed for that session. Both go into the request, for the page that renders now, and into the answer.
 */
export async function proxy(request: NextRequest): Promise<NextResponse> {
  const cookies = [await sessionOf(request), await adminOf(request)].filter((cookie) => cookie !== undefined);
  for (const { name, value } of cookies) request.cookies.set(name, value);
  const policy = pagePolicy(newNonce(), {
    isHttps: isHttps(request.headers),
    isDevelopment: process.env.NODE_ENV === 'development',
  });
  request.headers.set(POLICY, policy);
  const response = NextResponse.next({ request: { headers: request.headers } });
  response.headers.set(POLICY, policy);
  for (const cookie of cookies) response.cookies.set(cookie);
  return response;
}

/** A new visitor's session. */
async function sessionOf(request: NextRequest) {
  if (await openSession(request.cookies.get(SESSION_COOKIE)?.value)) return undefined;
  return sessionCookie(newSession(), request.headers);
}

/** The admin's session, prolonged by looking at a page. Never by a form: signing out would be undone. */
async function adminOf(request: NextRequest) {
  if (request.method !== 'GET' || !request.nextUrl.pathname.startsWith('/admin')) return undefined;
  return renewedAdminCookie(request.cookies.get(ADMIN_COOKIE)?.value, request.headers);
}

/** Pages only: an API client has a token, and a status question without a session is nobody's. */
export const config = { matcher: ['/((?!api/|_next/|favicon\\.ico$|icon\\.svg$).*)'] };
