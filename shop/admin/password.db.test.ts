import { randomUUID } from 'node:crypto';
import { afterAll, beforeAll, beforeEach, expect, test } from 'vitest';
import { type TestDatabase, testDatabase } from '../../scripts/testing/test-database.ts';

process.env.ADMIN_PASSWORD = 'the right one';

let database: TestDatabase;
let tryPassword: typeof import('./password.ts').tryPassword;
beforeAll(async () => {
  database = await testDatabase();
  process.env.DATABASE_URL = database.url;
  ({ tryPassword } = await import('./password.ts'));
});
afterAll(async () => {
  const { db } = await import('../db.ts');
  await db().$disconnect();
  await database?.drop();
});
beforeEach(() => database.client.rateLimit.deleteMany());

const wrong = (address: string, device?: string) => tryPassword('a wrong one', { address, device });
const right = (address: string, device?: string) => tryPassword('the right one', { address, device });

test('five wrong ones from an address, then none is looked at: not even the right one; others are', async () => {
  for (let n = 0; n < 5; n++) expect(await wrong('203.0.113.7')).toBe('wrong');
  expect(await right('203.0.113.7')).toMatchObject({ waitMs: expect.toSatisfy((ms) => ms > 500_000 && ms <= 600_000) });
  expect(await right('203.0.113.8')).toBe('right');
  // Ten minutes are over.
  await database.client.rateLimit.updateMany({ data: { expire: BigInt(Date.now() - 1) } });
  expect(await right('203.0.113.7')).toBe('right');
});

test('a hundred at once: five are looked at', async () => {
  const tried = await Promise.all(Array.from({ length: 100 }, () => wrong('203.0.113.9')));
  expect(tried.filter((each) => each === 'wrong')).toHaveLength(5);
});

test('an IPv6 network counts as one address, however its addresses are written', async () => {
  const written = [
    '2001:db8:1:2::1',
    '2001:db8:1:2:ffff::',
    '2001:DB8:1:2:0:0:0:9',
    '2001:db8:1:2:3:4:5:6',
    '2001:db8:1:2::',
  ];
  for (const address of written) expect(await wrong(address)).toBe('wrong');
  expect(await wrong('2001:db8:1:2::77')).toMatchObject({ waitMs: expect.any(Number) });
  expect(await right('2001:db8:1:3::1')).toBe('right');
});

test("strangers' flood from many addresses holds up new browsers for a minute, and never a known one", async () => {
  const device = randomUUID();
  const flood = await Promise.all(Array.from({ length: 60 }, (_, n) => wrong(`198.51.100.${n}`)));
  expect(flood.filter((each) => each === 'wrong')).toHaveLength(30);
  expect(await right('203.0.113.1')).toMatchObject({ waitMs: expect.toSatisfy((ms) => ms <= 60_000) });
  expect(await right('203.0.113.1', device)).toBe('right');
  // Nor is the known one a way around: it has five as well.
  for (let n = 0; n < 5; n++) expect(await wrong('203.0.113.1', device)).toBe('wrong');
  expect(await right('203.0.113.1', device)).toMatchObject({ waitMs: expect.any(Number) });
});

test('the right password takes nothing from anybody', async () => {
  for (let n = 0; n < 40; n++) expect(await right(`192.0.2.${n}`)).toBe('right');
  for (let n = 0; n < 7; n++) expect(await right('192.0.2.1')).toBe('right');
});
