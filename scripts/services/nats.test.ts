import { once } from 'node:events';
import { createServer } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { expect, onTestFinished, test, vi } from 'vitest';
import { startNats } from './nats.ts';
import { assertSum, findNats, type Installer, install, installers } from './nats-install.ts';
import { standIns } from './programs.fixture.ts';
import { runVisibly } from './programs.ts';

const { folder, program } = standIns('NATS_SERVER_PATH');

test('NATS_SERVER_PATH goes before PATH, which goes before the rest', async () => {
  const onPath = program('nats-server', 'nats-server: v2.99.0');
  vi.stubEnv('PATH', `${folder()}:${process.env.PATH}`);
  expect(await findNats()).toBe(onPath);
  const asked = program('mine', 'nats-server: v2.9.10');
  vi.stubEnv('NATS_SERVER_PATH', asked);
  expect(await findNats()).toBe(asked);
});

test.each(['missing', 'other'])('NATS_SERVER_PATH that is no server is refused: %s', async (name) => {
  program('other', 'redis-server v7');
  vi.stubEnv('NATS_SERVER_PATH', join(folder(), name));
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

/** A way that does `run`, and what it was asked. */
function way(run: Installer['run']): Installer & { run: ReturnType<typeof vi.fn> } {
  return { words: 'a way', run: vi.fn(run) };
}

test('a way that fails, or leaves no server, is followed by the next', async () => {
  const log = vi.fn();
  const ways = [way(() => Promise.reject(new Error('no such package'))), way(async () => {}), way(async () => {})];
  const find = async () => (ways[1]?.run.mock.calls.length ? '/found' : undefined);
  expect(await install(ways, find, { log })).toBe('/found');
  expect(log).toHaveBeenCalledWith('no such package');
  expect(ways[2]?.run).not.toHaveBeenCalled();
  await expect(install(ways.slice(0, 1), async () => undefined, { log })).rejects.toThrow(/brew install nats-server/);
});

test('Ctrl-C ends an installation, and no other way is tried', async () => {
  const stopping = new AbortController();
  const [first, second] = [
    way((signal) => runVisibly(['sleep', '60'], { cwd: tmpdir(), signal })),
    way(async () => {}),
  ];
  const installing = install([first, second], async () => undefined, { log: () => {}, signal: stopping.signal });
  stopping.abort();
  await expect(installing).rejects.toThrow(/abort/);
  expect(first.run).toHaveBeenCalledOnce();
  expect(second.run).not.toHaveBeenCalled();
});

test('an archive that is not the one that was released is not unpacked', () => {
  const sha256 = 'ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad'; // of FIPS 180-2
  assertSum('a.tar.gz', Buffer.from('abc'), sha256);
  expect(() => assertSum('a.tar.gz', Buffer.from('abcd'), sha256)).toThrow(/a\.tar\.gz is not what was released/);
});

test('a killed server waits for its port when somebody has taken it meanwhile', { tags: 'nats' }, async () => {
  const nats = await startNats();
  onTestFinished(() => nats.close());
  await nats.kill();
  const taken = createServer().listen(Number(new URL(nats.url).port), '127.0.0.1');
  await once(taken, 'listening');
  const starting = nats.start();
  // It says nothing of a start that failed. One that throws does so long before this is over.
  await Promise.race([starting, sleep(400)]);
  taken.close();
  await starting;
});
