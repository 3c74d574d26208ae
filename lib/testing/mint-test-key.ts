/** A key as a server without a secret mints them: a UUIDv7 (RFC 9562). In browsers too, unlike `core/key.ts`. */
export function mintTestKey(): string {
  const bytes = crypto.getRandomValues(new Uint8Array(16));
  for (let n = 0; n < 6; n++) bytes[n] = Date.now() / 256 ** (5 - n); // an element keeps the lowest 8 bits
  bytes[6] = ((bytes[6] ?? 0) & 0x0f) | 0x70;
  bytes[8] = ((bytes[8] ?? 0) & 0x3f) | 0x80;
  const hex = Array.from(bytes, (byte) => byte.toString(16).padStart(2, '0')).join('');
  return [hex.slice(0, 8), hex.slice(8, 12), hex.slice(12, 16), hex.slice(16, 20), hex.slice(20)].join('-');
}
