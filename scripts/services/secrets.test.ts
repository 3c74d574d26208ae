import { mkdtempSync, readFileSync, rmSync, statSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, expect, test } from 'vitest';
import { loadSecrets } from './secrets.ts';

let folder: string;
let file: string;

beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), 'secrets-'));
  file = join(folder, 'data', 'secrets.json');
});
afterEach(() => rmSync(folder, { recursive: true }));

test('generates what is missing, for its owner alone, and keeps it', () => {
  const first = loadSecrets({ file, env: {} });
  expect(first.ADMIN_PASSWORD).toMatch(/^([a-z2-9]{4}-){3}[a-z2-9]{4}$/);
  expect(first.IDEMPOTENCY_SECRET).toMatch(/^[\w-]{43}$/);
  expect(first.STRIPE_WEBHOOK_SECRET).toMatch(/^whsec_[\w-]{43}$/);
  expect(new Set(Object.values(first)).size).toBe(7);
  expect(statSync(file).mode & 0o777).toBe(0o600);
  expect(loadSecrets({ file, env: {} })).toEqual(first);
});

test('what the environment sets wins and is not written down', () => {
  const env = { ADMIN_PASSWORD: 'from-the-outside', CRON_SECRET: '' };
  const secrets = loadSecrets({ file, env });
  expect(secrets.ADMIN_PASSWORD).toBe('from-the-outside');
  expect(secrets.CRON_SECRET).toMatch(/^[\w-]{43}$/);
  expect(readFileSync(file, 'utf8')).not.toMatch(/from-the-outside|ADMIN_PASSWORD/);
});

test('adds a secret that an older file does not have', () => {
  const { METRICS_TOKEN, ...older } = loadSecrets({ file, env: {} });
  writeFileSync(file, JSON.stringify(older), { mode: 0o644 });
  const now = loadSecrets({ file, env: {} });
  expect(now).toMatchObject(older);
  expect(now.METRICS_TOKEN).not.toBe(METRICS_TOKEN);
  expect(statSync(file).mode & 0o777).toBe(0o600);
});

test.each([
  [{ ADMIN_PASSWORD: 'x' }, 'ADMIN_PASSWORD is shorter than 16 characters'],
  [
    { CRON_SECRET: 'one for two purposes', METRICS_TOKEN: 'one for two purposes' },
    'CRON_SECRET and METRICS_TOKEN are one',
  ],
])('refuses what the environment sets that opens too easily: %j', (env, words) => {
  expect(() => loadSecrets({ file, env })).toThrow(words);
});

test('makes a secret anew that an older version has made too short', () => {
  const first = loadSecrets({ file, env: {} });
  writeFileSync(file, JSON.stringify({ ...first, ADMIN_PASSWORD: 'abcd-efgh-jkmn' }));
  const now = loadSecrets({ file, env: {} });
  expect(now.ADMIN_PASSWORD).toHaveLength(19);
  expect(now).toEqual({ ...first, ADMIN_PASSWORD: now.ADMIN_PASSWORD });
  expect(loadSecrets({ file, env: {} })).toEqual(now);
});

test.each(['{', '[1]', 'null', '{"CRON_SECRET": 1}'])('refuses a damaged file: %s', (text) => {
  loadSecrets({ file, env: {} });
  writeFileSync(file, text);
  expect(() => loadSecrets({ file, env: {} })).toThrow(/is damaged\. Delete it/);
});
