import { createHash, timingSafeEqual } from 'node:crypto';

/** The demo's accounts. The token is the password of the sign-in page and the bearer token of the API. */
const ACCOUNTS = [
  { name: 'alice', token: 'demo-alice' },
  { name: 'bob', token: 'demo-bob' },
] as const;

/** The account that a token belongs to. */
export function accountOf(token: string): string | null {
  return ACCOUNTS.find((account) => sameSecret(account.token, token))?.name ?? null;
}

/** Tells whether this account has this token. */
export function signsIn(name: string, token: string): boolean {
  return accountOf(token) === name.trim().toLowerCase();
}

/** Compares in constant time, whatever the lengths. */
export function sameSecret(expected: string, given: string): boolean {
  const digest = (text: string) => createHash('sha256').update(text).digest();
  return timingSafeEqual(digest(expected), digest(given));
}
