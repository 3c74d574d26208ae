/** Each leads data of its version to the next one. */
export type Upcasts = Readonly<Record<number, (older: never) => unknown>>;

/**
 * Leads data of an older version up to a newer one, one version at a time.
 *
 * @param errorOf makes what is thrown at a version that has no upcast, or whose upcast has `thrown`
 */
export function leadUp(
  data: unknown,
  { from, to, upcasts }: { from: number; to: number; upcasts: Upcasts },
  errorOf: (version: number, thrown?: { cause: unknown }) => unknown,
): unknown {
  let led = data;
  for (let version = from; version < to; version++) {
    const upcast = upcasts[version];
    if (!upcast) throw errorOf(version);
    try {
      led = upcast(led as never);
    } catch (cause) {
      throw errorOf(version, { cause });
    }
  }
  return led;
}
