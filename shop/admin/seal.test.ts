import { beforeAll, expect, test } from 'vitest';
import { sessionCookie } from '../session/session.ts';

process.env.SESSION_SECRET = 'a-session-secret-of-at-least-32-characters';
process.env.ADMIN_PASSWORD = 'one password';

let seal: typeof import('./seal.ts');
beforeAll(async () => {
  seal = await import('./seal.ts');
});

const MINUTE = 60_000;
const plain = new Headers();
const now = Date.now();

async function cookieOf(session = seal.newAdminSession(now)): Promise<string> {
  return (await seal.adminCookie(session, plain)).value;
}

test('a session ends half an hour after the last page, and after eight hours however busy it was', async () => {
  const value = await cookieOf();
  expect(await seal.openAdminSession(value, now + 29 * MINUTE)).toMatchObject({ since: now });
  expect(await seal.openAdminSession(value, now + 30 * MINUTE)).toBeNull();
  let busy = value;
  for (let minutes = 20; minutes < 480; minutes += 20) {
    busy = (await seal.renewedAdminCookie(busy, plain, now + minutes * MINUTE))?.value ?? '';
    expect(busy, `after ${minutes} minutes`).not.toBe('');
  }
  expect(await seal.openAdminSession(busy, now + 479 * MINUTE)).toMatchObject({ since: now });
  expect(await seal.openAdminSession(busy, now + 480 * MINUTE)).toBeNull();
  expect(await seal.renewedAdminCookie(busy, plain, now + 480 * MINUTE)).toBeUndefined();
});

test('a page a moment later needs no new cookie, and what is over is not prolonged', async () => {
  const value = await cookieOf();
  expect(await seal.renewedAdminCookie(value, plain, now + 30_000)).toBeUndefined();
  expect(await seal.renewedAdminCookie(value, plain, now + MINUTE)).toMatchObject({ name: 'oncekit_admin' });
  expect(await seal.renewedAdminCookie(value, plain, now + 31 * MINUTE)).toBeUndefined();
});

test('nothing else opens it: no shopper, no device, no other password, no rubbish', async () => {
  const shopper = await sessionCookie({ shopperId: 'x', ...seal.newAdminSession() } as { shopperId: string }, plain);
  const device = await seal.deviceCookie('x', plain);
  for (const value of [shopper.value, device.value, 'rubbish', '', undefined]) {
    expect(await seal.openAdminSession(value)).toBeNull();
  }
  expect(await seal.openDevice(await cookieOf())).toBeUndefined();
  const value = await cookieOf();
  process.env.ADMIN_PASSWORD = 'another password';
  expect(await seal.openAdminSession(value)).toBeNull();
  process.env.ADMIN_PASSWORD = 'one password';
  expect(await seal.openAdminSession(value)).not.toBeNull();
});

test('its cookie is for this site and for the server alone, and over https for https alone', async () => {
  const over = await seal.adminCookie(seal.newAdminSession(), new Headers({ 'x-forwarded-proto': 'https' }));
  expect(over).toMatchObject({
    name: '__Host-oncekit_admin',
    httpOnly: true,
    sameSite: 'strict',
    secure: true,
    path: '/',
  });
  expect(over).not.toHaveProperty('domain');
  expect(await seal.adminCookie(seal.newAdminSession(), plain)).toMatchObject({ name: 'oncekit_admin', secure: false });
});
