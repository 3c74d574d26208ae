import { randomBytes } from 'node:crypto';

/** A value that nobody can guess, for one answer. */
export function newNonce(): string {
  return randomBytes(16).toString('base64');
}

/**
 * No script runs in a page but those that this answer names by its nonce, and what they load: not one that somebody got
 * into the page. Next reads the nonce from the request's header and writes it to its own scripts, which only a page that
 * is made for its request can carry: every page here is (app/layout.tsx, app/instant.ts).
 *
 * Source: https://csp.withgoogle.com/docs/strict-csp.html
 */
export function pagePolicy(nonce: string, { isHttps, isDevelopment }: { isHttps: boolean; isDevelopment: boolean }) {
  return [
    "default-src 'self'",
    // React's development build rebuilds the server's stack traces with eval.
    `script-src 'nonce-${nonce}' 'strict-dynamic'${isDevelopment ? " 'unsafe-eval'" : ''}`,
    // Next's error overlay writes styles of its own.
    `style-src 'self'${isDevelopment ? " 'unsafe-inline'" : ` 'nonce-${nonce}'`}`,
    "img-src 'self' data: blob:",
    "object-src 'none'",
    "base-uri 'none'",
    "form-action 'self'",
    "frame-ancestors 'none'",
    ...(isHttps ? ['upgrade-insecure-requests'] : []),
  ].join('; ');
}

/** For all that is no page, and for a page that no proxy has seen: it shows, and runs no script at all. */
export const BARE_POLICY =
  "default-src 'none'; style-src 'self'; img-src 'self'; base-uri 'none'; form-action 'self'; frame-ancestors 'none'";
