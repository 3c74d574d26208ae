import { mintKey } from '../core/key.ts';
import type { Scope } from '../core/scope.ts';
import { readSecrets } from '../core/secrets.ts';

/**
 * A key as the app with this secret would have minted it then: for tests of keys that are too old, or from the future.
 *
 * @param at milliseconds since the epoch
 * @throws ConfigurationError for a secret under 32 characters
 */
export function mintKeyAt(at: number, scope: Scope, secret: string): string {
  return mintKey(at, scope, readSecrets([secret]).first);
}
