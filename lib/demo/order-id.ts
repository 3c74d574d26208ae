import { createHash } from 'node:crypto';
import type { Scope } from 'oncekit';

/**
 * The id of an intent's order, as a UUID of version 8. It follows from the intent: where a restore has lost the order, its
 * payment is found by it at the provider, and what it announces is what it has announced before.
 */
export function orderIdOf({ tenant, principal, operation }: Scope, key: string): string {
  const bytes = createHash('sha256')
    .update(JSON.stringify([tenant, principal, operation, key]))
    .digest()
    .subarray(0, 16);
  bytes.writeUInt8((bytes.readUInt8(6) & 0x0f) | 0x80, 6);
  bytes.writeUInt8((bytes.readUInt8(8) & 0x3f) | 0x80, 8);
  return bytes.toString('hex').replace(/^(.{8})(.{4})(.{4})(.{4})/, '$1-$2-$3-$4-');
}
