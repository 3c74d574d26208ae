import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import { SECRETS } from '../e2e/fixtures/app-process.ts';
import { loadSecrets } from '../scripts/services/secrets.ts';
import { complaints } from './env.ts';

const whole = { ...SECRETS, DATABASE_URL: 'postgresql://nowhere/shop', STRIPE_API_BASE: 'http://127.0.0.1:12111' };

test('with all of them the shop starts', () => {
  expect(complaints(whole)).toEqual([]);
});

const NAMES = [
  'IDEMPOTENCY_SECRET',
  'SESSION_SECRET',
  'ADMIN_PASSWORD',
  'CRON_SECRET',
  'METRICS_TOKEN',
  'STRIPE_WEBHOOK_SECRET',
  'EVENTS_WEBHOOK_SECRET',
];

test.each(NAMES)('%s of one letter, of one letter many times, or with a second purpose: it does not', (name) => {
  for (const weak of ['x', 'whsec_x', 'x'.repeat(40), `whsec_${'x'.repeat(40)}`]) {
    expect(complaints({ ...whole, [name]: weak }).join('\n'), weak).toMatch(new RegExp(`^${name} .*openssl`, 'm'));
  }
  const another = String(NAMES.find((each) => each !== name));
  const shared = String(whole[another as keyof typeof whole]);
  expect(complaints({ ...whole, [name]: shared }).join('\n')).toMatch(/are one secret/);
});

test('what the demo generates is enough', () => {
  const folder = mkdtempSync(join(tmpdir(), 'secrets-'));
  const generated = loadSecrets({ file: join(folder, 'secrets.json'), env: {} });
  rmSync(folder, { recursive: true });
  expect(complaints({ ...whole, ...generated })).toEqual([]);
});
