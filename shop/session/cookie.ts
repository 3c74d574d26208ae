import { isHttps } from '../env.ts';

/**
 * The name under which a cookie of ours travels. Over https browsers take a `__Host-` cookie from this host alone and
 * over https alone, so neither a sibling domain nor an unencrypted answer can plant one. Over http they would drop it.
 */
export function cookieName(name: string, headers: Headers): string {
  return isHttps(headers) ? `__Host-${name}` : name;
}

interface Wanted {
  name: string;
  value: string;
  sameSite: 'lax' | 'strict';
  lifetimeMs: number;
}

/** A cookie for the whole site that scripts cannot read. A lifetime of 0 deletes it. `headers` are those of the request. */
export function hostCookie({ name, value, sameSite, lifetimeMs }: Wanted, headers: Headers) {
  return {
    name: cookieName(name, headers),
    value,
    httpOnly: true,
    sameSite,
    secure: isHttps(headers),
    path: '/',
    maxAge: lifetimeMs / 1000,
  };
}
