/**
 * The address at which the client has found us. Next's own server writes its `localhost` into `request.url`, whatever was
 * asked for. Use it for the client's own answer alone: a client may claim any address, and nobody else is to hear of it.
 */
export function originOf({ url, headers }: Request): string {
  const first = (name: string) => headers.get(name)?.split(',')[0]?.trim();
  const host = first('x-forwarded-host') ?? headers.get('host');
  const proto = first('x-forwarded-proto')?.toLowerCase();
  const scheme = proto === 'http' || proto === 'https' ? proto : new URL(url).protocol.slice(0, -1);
  const asked = `${scheme}://${host}`;
  return new URL(host && URL.canParse(asked) ? asked : url).origin;
}
