import { type NextRequest, NextResponse } from 'next/server';
import { newSession, openSession, SESSION_COOKIE, sessionCookie } from './lib/demo/session.ts';

/**
 * Gives every visitor a session before the first page renders: the keys in its forms are signed for that session. It
 * goes into the request, for the page that renders now, and into the answer, for those to come.
 */
export async function proxy(request: NextRequest): Promise<NextResponse> {
  if (await openSession(request.cookies.get(SESSION_COOKIE)?.value)) return NextResponse.next();
  const cookie = await sessionCookie(newSession(), request.headers);
  request.cookies.set(cookie.name, cookie.value);
  const response = NextResponse.next({ request: { headers: request.headers } });
  response.cookies.set(cookie);
  return response;
}

/** Pages only: an API client has a token, and a status question without a session is nobody's. */
export const config = { matcher: ['/((?!api/|_next/|favicon|icon).*)'] };
