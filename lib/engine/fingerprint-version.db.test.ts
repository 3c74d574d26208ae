import { afterAll, beforeAll, expect, test, vi } from 'vitest';
import { type TestDatabase, testDatabase } from '../../scripts/testing/test-database.ts';
import { canonicalText } from '../core/canonical.ts';
import { fingerprint } from '../core/fingerprint.ts';
import { readSecrets } from '../core/secrets.ts';
import { ANN, anything, freshKey, kit, pastTriggers } from '../integration/kit.fixture.ts';

/** Rows whose fingerprint is of another version than this kit would write. A trigger lets nobody write such a one. */

let database: TestDatabase;
beforeAll(async () => {
  database = await testDatabase({ ownsTables: true });
});
afterAll(() => database?.drop());

const op = () => {
  const handle = vi.fn(async () => 'v1');
  return { ...kit(database.client).operation({ name: 'checkout', schema: anything }).handler(handle), handle };
};
const sent = (token?: string) => ({ sku: 'tea', ...(token && { 'g-recaptcha-response': token }) });

test('F1 a row of an older kit is compared as it was written: every field counts', async () => {
  const key = freshKey();
  await op().execute({ key, payload: sent('a') });
  const secrets = readSecrets([]);
  const canonical = [await canonicalText(sent('a'))] as const;
  const { hash, version, secretId } = fingerprint({ canonical }, ANN.tenant, secrets);
  const sql = 'UPDATE idempotency_keys SET fingerprint = $2, fingerprint_version = $3, secret_id = $4 WHERE key = $1';
  await pastTriggers(database.client, sql, key, Buffer.from(hash), version, secretId);
  const told = await Promise.all([sent('a'), sent('b'), sent()].map((payload) => op().execute({ key, payload })));
  expect(told.map((outcome) => (outcome.ok ? outcome.replayed : outcome.code))).toEqual([
    true,
    'payload_mismatch',
    'payload_mismatch',
  ]);
});

test('R3 a row of a newer version is unavailable, and runs nothing', async () => {
  const key = freshKey();
  await op().execute({ key, payload: sent('a') });
  await pastTriggers(database.client, 'UPDATE idempotency_keys SET fingerprint_version = 6 WHERE key = $1', key);
  const { execute, handle } = op();
  expect(await execute({ key, payload: sent('a') })).toMatchObject({ code: 'unavailable' });
  expect(handle).not.toHaveBeenCalled();
});
