const PREFIX_BYTES = 4;

/**
 * Joins strings into bytes so that no two different lists give the same bytes: each part is preceded by its length
 * in bytes (32 bit, big endian). A separator could be forged by a crafted part ("a|b", "c" against "a", "b|c").
 *
 * Parts must be well-formed Unicode: UTF-8 turns every lone surrogate into the same replacement character.
 */
export function lengthPrefixed(...parts: string[]): Buffer {
  const lengths = parts.map((part) => Buffer.byteLength(part));
  const joined = Buffer.allocUnsafe(lengths.reduce((sum, length) => sum + PREFIX_BYTES + length, 0)); // all of it is written
  let at = 0;
  for (const [index, part] of parts.entries()) {
    if (!part.isWellFormed()) throw new TypeError('A lone surrogate cannot be signed or hashed without collisions.');
    at = joined.writeUInt32BE(lengths[index] as number, at);
    at += joined.write(part, at);
  }
  return joined;
}
