import { writeFileSync } from 'node:fs';
import path from 'node:path';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { type TestDatabase, testDatabase } from '../../../scripts/testing/test-database.ts';
import { folders } from '../app/app.fixture.ts';
import { makeRunnableApp, runOncekit, runScript } from '../oncekit.fixture.ts';

const made = folders();
let database: TestDatabase;
beforeAll(async () => {
  database = await testDatabase();
});
afterAll(async () => {
  made.remove();
  await database?.drop();
});

test('an operation that was added runs, once for a key, and doctor finds it listed', { timeout: 240_000 }, async () => {
  const cwd = makeRunnableApp(made, {
    'lib/checkout.ts': "export { vote as checkout } from './vote';\n",
    'lib/vote.ts': `import { z } from 'zod';
import { idempotency } from './idempotency';
export const vote = idempotency.operation({ name: 'vote', schema: z.object({}) }).handler(async () => null);
`,
  });
  const secret = 'a-secret-that-is-long-enough-for-the-kit';
  const env = { DATABASE_URL: database.url, IDEMPOTENCY_SECRET: secret, CRON_SECRET: `${secret}-2`, NODE_ENV: 'test' };
  const added = await runOncekit(['add', 'operation', 'thank-you', '--yes'], { cwd, env });
  expect([added.code, added.err]).toEqual([0, '']);
  const script = `import { thankYou } from './lib/thank-you';
const who = { key: 'k', scope: { tenant: 'main', principal: 'ann' }, acceptKeys: 'any' };
async function main() {
  const outcomes = [];
  for (const note of ['hello', 'hello', ' ']) {
    outcomes.push(await thankYou.execute({ ...who, ...(note === ' ' ? { key: 'k2' } : {}), payload: { note } }));
  }
  console.log(JSON.stringify(outcomes));
  process.exit();
}
void main();
`;
  writeFileSync(path.join(cwd, 'try.ts'), script);
  const { out, err } = await runScript(['try.ts'], { cwd, env });
  expect(JSON.parse(out || err)).toMatchObject([
    { ok: true, data: { note: 'hello' }, replayed: false },
    { ok: true, data: { note: 'hello' }, replayed: true },
    { ok: false, code: 'validation', fieldErrors: { note: ['Please write something.'] } },
  ]);
  const doctor = await runOncekit(['doctor', '--json'], { cwd, env });
  expect(JSON.parse(doctor.out)).toContainEqual(
    expect.objectContaining({ check: 'Operations', level: 'ok', says: expect.stringContaining('vote, thank-you') }),
  );
});
