const PREFIX_BYTES = 4;

/**
 * Joins strings into bytes so that no two different lists give the same bytes: each part is preceded by its length
 * in bytes (32 bit, big endian). A separator could be forged by a crafted part ("a|b", "c" against "a", "b|c").
 *
 * Parts must be well-formed Unicode: UTF-8 turns every lone surrogate into the same replacement character.
 */
export function lengthPrefixed(...parts: string[]): Buffer {
  let size = 0;
  for (const part of parts) size += PREFIX_BYTES + Buffer.byteLength(part);
  const joined = Buffer.allocUnsafe(size); // all of it is written
  let at = 0;
  for (const part of parts) {
    if (!part.isWellFormed()) throw new TypeError('A lone surrogate cannot be signed or hashed without collisions.');
    const length = joined.write(part, at + PREFIX_BYTES);
    at = joined.writeUInt32BE(length, at) + length;
  }
  return joined;
}
