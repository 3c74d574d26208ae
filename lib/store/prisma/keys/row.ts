import { parseKey } from '../../../core/key.ts';
import { NO_SECRET } from '../../../core/secrets.ts';
import type { KeyRow } from '../../store.ts';

/** The columns of a key row, in the order of `KeyRow`. */
export const KEY_COLUMNS = `tenant, principal, operation, key, state, fencing_token, attempts, fingerprint,
  fingerprint_version, secret_id, result, schema_version, minted_at, claimed_at, settled_at, expires_at,
  lease_until, next_attempt_at, recovery_point, needs_attention, trace_parent`;

/** The row of one key: parameters 1 to 4. */
export const IS_KEY = 'tenant = $1 AND principal = $2 AND operation = $3 AND key = $4';

/** A row as the driver gives it. */
export interface RawRow {
  tenant: string;
  principal: string;
  operation: string;
  key: string;
  state: KeyRow['state'];
  fencing_token: number;
  attempts: number;
  fingerprint: Uint8Array | null;
  fingerprint_version: number | null;
  secret_id: string | null;
  result: string | null;
  schema_version: number;
  minted_at: Date | null;
  claimed_at: Date;
  settled_at: Date | null;
  expires_at: Date;
  lease_until: Date | null;
  next_attempt_at: Date | null;
  recovery_point: string | null;
  needs_attention: boolean;
  trace_parent: string | null;
}

export function toKeyRow(raw: RawRow): KeyRow {
  const { fingerprint, fingerprint_version: version, secret_id: secretId } = raw;
  return {
    tenant: raw.tenant,
    principal: raw.principal,
    operation: raw.operation,
    key: raw.key,
    state: raw.state,
    fencingToken: raw.fencing_token,
    attempts: raw.attempts,
    fingerprint:
      fingerprint === null || version === null || secretId === null ? null : { hash: fingerprint, version, secretId },
    result: raw.result,
    schemaVersion: raw.schema_version,
    mintedAt: mintedAtOf(raw),
    claimedAt: raw.claimed_at,
    settledAt: raw.settled_at,
    expiresAt: raw.expires_at,
    leaseUntil: raw.lease_until,
    nextAttemptAt: raw.next_attempt_at,
    recoveryPoint: raw.recovery_point,
    needsAttention: raw.needs_attention,
    traceParent: raw.trace_parent,
  };
}

/** When a row's key was minted; null for one that was not minted here. */
export function mintedAtOf(row: Pick<RawRow, 'key' | 'secret_id' | 'minted_at'>): Date | null {
  return row.minted_at ?? signedAt(row.key, row.secret_id);
}

/**
 * The time that a key carries under a signature, which need not be stored beside it. Null for other keys, and where no
 * secret was configured: then nobody has looked at the signature.
 */
export function signedAt(key: string, secretId: string | null): Date | null {
  if (secretId === null || secretId === NO_SECRET) return null;
  const parsed = parseKey(key);
  return parsed.shape === 'signed' ? parsed.mintedAt : null;
}

/**
 * The present for columns of whole milliseconds, which round to the nearest: what is due at once must not be due half a
 * millisecond later, when the next statement looks for it.
 */
export const NOW = `date_trunc('milliseconds', clock_timestamp())`;

/** A column's time as a number of milliseconds: read faster than a time's text. */
export function epochMs(column: string): string {
  return `date_part('epoch', ${column}) * 1000`;
}
