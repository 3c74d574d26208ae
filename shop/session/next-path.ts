const BASE = 'http://this.site';

/** A path of this site to go on to; `/` for anything else, so that a crafted link leads nobody away. */
export function safeNext(value: unknown): string {
  // URL reads `//x`, `/\x` and `/<tab>/x` as another host, just as browsers do.
  if (typeof value !== 'string' || !value.startsWith('/') || !URL.canParse(value, BASE)) return '/';
  const url = new URL(value, BASE);
  // `/..//x` is this site's own, until its normal form `//x` is read again.
  const isOwn = url.origin === BASE && !url.pathname.startsWith('//');
  return isOwn ? `${url.pathname}${url.search}${url.hash}` : '/';
}
