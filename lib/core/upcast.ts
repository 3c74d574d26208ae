/** Each turns data of its version into that of the next one. */
export type Upcasts = Readonly<Record<number, (older: never) => unknown>>;

/**
 * Turns data of an older version into that of a newer one, one version at a time.
 *
 * @param errorOf makes what is thrown at a version that has no upcast, or whose upcast has `thrown`
 */
export function upcastData(
  data: unknown,
  { from, to, upcasts }: { from: number; to: number; upcasts: Upcasts },
  errorOf: (version: number, thrown?: { cause: unknown }) => unknown,
): unknown {
  let upcasted = data;
  for (let version = from; version < to; version++) {
    const upcast = upcasts[version];
    if (!upcast) throw errorOf(version);
    try {
      upcasted = upcast(upcasted as never);
    } catch (cause) {
      throw errorOf(version, { cause });
    }
  }
  return upcasted;
}
