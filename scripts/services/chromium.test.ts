import { join } from 'node:path';
import { expect, test, vi } from 'vitest';
import { findChromium, launchOptions } from './chromium.ts';
import { standIns } from './programs.fixture.ts';

const { folder, program } = standIns('PLAYWRIGHT_CHROMIUM_PATH');

test('PLAYWRIGHT_CHROMIUM_PATH goes before everything else', async () => {
  const asked = program('mine', 'Google Chrome 150');
  vi.stubEnv('PLAYWRIGHT_CHROMIUM_PATH', asked);
  expect(await findChromium()).toBe(asked);
  expect((await launchOptions()).executablePath).toBe(asked);
});

test.each(['missing', 'stub'])('PLAYWRIGHT_CHROMIUM_PATH that is no browser is refused: %s', async (name) => {
  program('stub', 'Requires the chromium snap to be installed.');
  vi.stubEnv('PLAYWRIGHT_CHROMIUM_PATH', join(folder(), name));
  await expect(findChromium()).rejects.toThrow(/does not run as a Chromium/);
});

test('a system browser is found on PATH, a stub is passed over', async () => {
  program('chromium', 'Requires the chromium snap to be installed.');
  const chrome = program('google-chrome', 'Google Chrome 150');
  vi.stubEnv('PATH', `${folder()}:/usr/sbin`);
  expect(await findChromium()).toBe(chrome);
});

test('one without a window goes before one with', async () => {
  program('chromium', 'Chromium 150');
  const shell = program('chromium-headless-shell', 'Chromium 150');
  vi.stubEnv('PATH', `${folder()}:/usr/sbin`);
  expect(await findChromium()).toBe(shell);
});
