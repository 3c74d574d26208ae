import { readdir, readFile } from 'node:fs/promises';
import path from 'node:path';
import { expect, test } from '@playwright/test';
import { messages } from 'oncekit/react';
import { distDirOf, variantOf } from '../shop/variants.ts';

/** Words that only server code says. Each is looked for on the server's side too: a mark that nobody says proves nothing. */
const MARKS = [
  'timingSafeEqual',
  'idempotency_keys',
  'ON CONFLICT',
  'SELECT pg_',
  '$queryRawUnsafe',
  'graphile',
  'DATABASE_URL',
  'IDEMPOTENCY_SECRET',
  'SESSION_SECRET',
  'STRIPE_SECRET_KEY',
  'CRON_SECRET',
  'is too short. Make one with: openssl',
  'nobody to issue a key of',
];

/** All JavaScript of a folder of the build, as one text. */
async function scriptsIn(folder: string): Promise<string> {
  const root = path.join(distDirOf(variantOf(process.env)), folder);
  const files = (await readdir(root, { recursive: true })).filter((file) => file.endsWith('.js'));
  return (await Promise.all(files.map((file) => readFile(path.join(root, file), 'utf8')))).join('\n');
}

test('no server code comes to a browser', async () => {
  const [client, server] = await Promise.all([scriptsIn('static'), scriptsIn('server')]);
  expect(client, "the kit's browser half").toContain(messages.retrying);
  for (const mark of MARKS) {
    expect.soft(server.includes(mark), `${mark} on the server`).toBe(true);
    expect.soft(client.includes(mark), `${mark} in the browser`).toBe(false);
  }
  expect(client).not.toMatch(/require\(["']node:|from["']node:|INSERT INTO/);
});
