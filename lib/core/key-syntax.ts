/** 1–255 visible ASCII characters without comma and quotes (K1). Free of Node, so that the browser half may use it. */
const SYNTAX = /^[!#-&(-+\--~]{1,255}$/;

export function isKey(value: unknown): value is string {
  return typeof value === 'string' && SYNTAX.test(value);
}
