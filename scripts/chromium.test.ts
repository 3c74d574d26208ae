import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, expect, test, vi } from 'vitest';
import { findChromium, launchOptions } from './chromium.ts';

let folder: string;
beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), 'chromium-'));
  vi.stubEnv('PLAYWRIGHT_CHROMIUM_PATH', '');
});
afterEach(() => {
  vi.unstubAllEnvs();
  rmSync(folder, { recursive: true });
});

function program(name: string, output: string): string {
  const path = join(folder, name);
  writeFileSync(path, `#!/bin/sh\necho '${output}'\n`, { mode: 0o755 });
  return path;
}

test('PLAYWRIGHT_CHROMIUM_PATH goes before everything else', async () => {
  const asked = program('mine', 'Google Chrome 150');
  vi.stubEnv('PLAYWRIGHT_CHROMIUM_PATH', asked);
  expect(await findChromium()).toBe(asked);
  expect((await launchOptions()).executablePath).toBe(asked);
});

test.each(['missing', 'stub'])('PLAYWRIGHT_CHROMIUM_PATH that is no browser is refused: %s', async (name) => {
  program('stub', 'Requires the chromium snap to be installed.');
  vi.stubEnv('PLAYWRIGHT_CHROMIUM_PATH', join(folder, name));
  await expect(findChromium()).rejects.toThrow(/does not run as a Chromium/);
});

test('a system browser is found on PATH, a stub is passed over', async () => {
  program('chromium', 'Requires the chromium snap to be installed.');
  const chrome = program('google-chrome', 'Google Chrome 150');
  vi.stubEnv('PATH', `${folder}:/usr/sbin`);
  expect(await findChromium()).toBe(chrome);
});
