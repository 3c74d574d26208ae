import { join } from 'node:path';
import { expect, test, vi } from 'vitest';
import { theFirefox, theWebKit } from './engines-install.ts';
import { standIns } from './programs.fixture.ts';

const { folder, program } = standIns('FIREFOX_PATH');

test('FIREFOX_PATH goes before everything else', async () => {
  const asked = program('mine', 'Mozilla Firefox 153.7.0esr');
  vi.stubEnv('FIREFOX_PATH', asked);
  expect(await theFirefox()).toBe(asked);
});

test.each(['missing', 'stub'])('FIREFOX_PATH that is no Firefox is refused: %s', async (name) => {
  program('stub', 'Requires the firefox snap to be installed.');
  vi.stubEnv('FIREFOX_PATH', join(folder(), name));
  await expect(theFirefox()).rejects.toThrow(/does not run as a Firefox/);
});

test('a Firefox is found on PATH, a stub is passed over', async () => {
  program('firefox-esr', 'Requires the firefox snap to be installed.');
  const firefox = program('firefox', 'Mozilla Firefox 150.0');
  vi.stubEnv('PATH', `${folder()}:/usr/sbin`);
  expect(await theFirefox()).toBe(firefox);
});

test('without WebKit it says what to install, and how to go on without', async () => {
  vi.stubEnv('PATH', folder());
  await expect(theWebKit()).rejects.toThrow(/apt-get install webkit2gtk-driver xvfb xauth.*--project=firefox/);
});
