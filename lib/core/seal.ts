import { createCipheriv, createDecipheriv, randomBytes } from 'node:crypto';
import { CodedError, UntrustedDataError } from './errors.ts';
import { lengthPrefixed } from './length-prefix.ts';
import type { KeyId } from './scope.ts';
import { deriveKey, NO_SECRET, readingSecret, type Secrets, writingSecret } from './secrets.ts';

const ALGORITHM = 'aes-256-gcm';
const VERSION = 1;
const IV_BYTES = 12;
const TAG_BYTES = 16;
const ID_BYTES = 16;
const HEADER_BYTES = 1 + ID_BYTES + IV_BYTES + TAG_BYTES;

/**
 * Encrypts what a key must remember until it settles: its input, and what its foreign calls send. AES-256-GCM under a
 * key of the tenant's own, bound to the key and its use, so that a row's bytes are of no use in another row.
 *
 * Layout: version (1 byte), id of the secret (16), initialisation vector (12), tag (16), ciphertext.
 */
export function seal(text: string, use: string, id: KeyId, secrets: Secrets): Uint8Array<ArrayBuffer> {
  const { id: secretId, value } = writingSecret(secrets);
  const iv = randomBytes(IV_BYTES);
  const cipher = createCipheriv(ALGORITHM, keyOf(value, id), iv).setAAD(bindingOf(use, id));
  const sealed = Buffer.concat([cipher.update(text, 'utf8'), cipher.final()]);
  const named = Buffer.alloc(ID_BYTES);
  named.write(secretId, 'ascii');
  return new Uint8Array(Buffer.concat([Buffer.from([VERSION]), named, iv, cipher.getAuthTag(), sealed]));
}

/**
 * @throws CodedError `unavailable` for what was sealed by a version or a secret that this process does not know: another
 *   instance will (R3)
 * @throws UntrustedDataError for bytes that were changed, moved, or sealed without a secret although there is one
 */
export function unseal(sealed: Uint8Array, use: string, id: KeyId, secrets: Secrets): string {
  const bytes = Buffer.from(sealed);
  const secretId = bytes.toString('ascii', 1, 1 + ID_BYTES).replace(/\0+$/, '');
  const value = readingSecret(secrets, secretId);
  if (bytes.length < HEADER_BYTES) throw new UntrustedDataError('What was stored with the key is cut short.');
  if (secretId === NO_SECRET && value === undefined) {
    throw new UntrustedDataError('What was stored with the key was sealed without a secret, and now there is one.');
  }
  if (bytes[0] !== VERSION || value === undefined) {
    throw new CodedError('unavailable', 'It was stored under a secret or a version that this process does not know.', {
      existing: `version ${bytes[0]}, secret ${secretId}`,
      expected: `version ${VERSION}, one of ${secrets.all.map((secret) => secret.id).join(', ') || NO_SECRET}`,
    });
  }
  const iv = bytes.subarray(1 + ID_BYTES, 1 + ID_BYTES + IV_BYTES);
  const tag = bytes.subarray(1 + ID_BYTES + IV_BYTES, HEADER_BYTES);
  try {
    const decipher = createDecipheriv(ALGORITHM, keyOf(value, id), iv).setAAD(bindingOf(use, id)).setAuthTag(tag);
    return decipher.update(bytes.subarray(HEADER_BYTES), undefined, 'utf8') + decipher.final('utf8');
  } catch (cause) {
    throw new UntrustedDataError('What was stored with the key has been changed.', { cause });
  }
}

function keyOf(secret: string, { tenant }: KeyId): Buffer {
  return deriveKey(secret, 'seal', tenant);
}

function bindingOf(use: string, { tenant, principal, operation, key }: KeyId): Buffer {
  return lengthPrefixed(use, tenant, principal, operation, key);
}
