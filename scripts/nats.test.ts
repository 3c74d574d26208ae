import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, expect, test, vi } from 'vitest';
import { findNats, installers } from './nats-install.ts';

let folder: string;
beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), 'nats-'));
  vi.stubEnv('NATS_SERVER_PATH', '');
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

test('NATS_SERVER_PATH goes before PATH, which goes before the rest', async () => {
  const onPath = program('nats-server', 'nats-server: v2.99.0');
  vi.stubEnv('PATH', `${folder}:${process.env.PATH}`);
  expect(await findNats()).toBe(onPath);
  const asked = program('mine', 'nats-server: v2.9.10');
  vi.stubEnv('NATS_SERVER_PATH', asked);
  expect(await findNats()).toBe(asked);
});

test.each(['missing', 'other'])('NATS_SERVER_PATH that is no server is refused: %s', async (name) => {
  program('other', 'redis-server v7');
  vi.stubEnv('NATS_SERVER_PATH', join(folder, name));
  await expect(findNats()).rejects.toThrow(/does not run as a nats-server/);
});

test.each([
  [
    'root on Debian',
    { hasApt: true, isRoot: true, platform: 'linux', arch: 'x64' },
    ['update && apt-get download', '-linux-amd64.'],
  ],
  ['anybody on Debian', { hasApt: true, isRoot: false, platform: 'linux', arch: 'x64' }, ['download', '-linux-amd64.']],
  ['macOS', { hasApt: false, isRoot: false, platform: 'darwin', arch: 'arm64' }, ['-darwin-arm64.']],
  ['what nobody builds for', { hasApt: false, isRoot: true, platform: 'aix', arch: 'ppc64' }, []],
])('how %s gets a server', (_, machine, expected) => {
  const words = installers(machine).map((one) => one.words.replace(/-o \S+ /g, ''));
  expect(words).toEqual(expected.map((part) => expect.stringContaining(part)));
});
