/**
 * Joins strings into bytes so that no two different lists give the same bytes: each part is preceded by its length
 * in bytes (32 bit, big endian). A separator could be forged by a crafted part ("a|b", "c" against "a", "b|c").
 *
 * Parts must be well-formed Unicode: UTF-8 turns every lone surrogate into the same replacement character.
 */
export function lengthPrefixed(...parts: string[]): Buffer {
  const chunks: Buffer[] = [];
  for (const part of parts) {
    if (!part.isWellFormed()) throw new TypeError('A lone surrogate cannot be signed or hashed without collisions.');
    const bytes = Buffer.from(part, 'utf8');
    const length = Buffer.alloc(4);
    length.writeUInt32BE(bytes.length);
    chunks.push(length, bytes);
  }
  return Buffer.concat(chunks);
}
