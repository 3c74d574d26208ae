/** Thrown by `rollbackAndRedirect`. */
export class RollbackRedirect extends Error {
  override readonly name = 'RollbackRedirect';
  /** Marks it as control flow, so that it is neither logged nor taken for a failure of the handler. */
  readonly digest = 'NEXT_ONCEKIT_ROLLBACK';
  readonly url: string;

  constructor(url: string) {
    super(`Rolled back, then redirected to ${url}`);
    this.url = url;
  }
}

/**
 * Leaves a handler without an effect and sends the person elsewhere: "go and sign in first". Everything rolls back and
 * the key stays usable. `redirect()` is the opposite: a success, which commits.
 */
export function rollbackAndRedirect(url: string): never {
  throw new RollbackRedirect(url);
}
