/**
 * Where the client has found us. Next's own server writes its `localhost` into `request.url`, whatever was asked for.
 * Of use in what the client alone is told: what it claims here comes back to nobody else.
 */
export function originOf({ url, headers }: Request): string {
  const host = headers.get('x-forwarded-host') ?? headers.get('host');
  const scheme = headers.get('x-forwarded-proto')?.split(',')[0]?.trim() ?? new URL(url).protocol.slice(0, -1);
  const asked = `${scheme}://${host}`;
  return new URL(host && URL.canParse(asked) ? asked : url).origin;
}
