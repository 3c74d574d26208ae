import { afterEach, expect, test, vi } from 'vitest';
import { findPrograms, installPrograms } from './install-programs.ts';

afterEach(() => void vi.unstubAllEnvs());

/** Three ways to get a program: there is one, there is none, and there is none. */
function ways({ ensure }: { ensure: () => Promise<unknown> }) {
  return { chromium: { ensure: async () => '/found' }, nats: { ensure }, pgbouncer: { ensure } };
}
const failing = ways({ ensure: () => Promise.reject(new Error('Install it yourself.')) });

test('a program that cannot be installed is said, and named to what is started next', async () => {
  vi.stubEnv('WITHOUT', '');
  const log = vi.fn();
  const { signal } = new AbortController();
  const lacks = await installPrograms(['chromium', 'nats', 'pgbouncer'], { log, signal }, failing);
  expect([...lacks]).toEqual(['nats', 'pgbouncer'].map((program) => [program, 'Install it yourself.']));
  expect(process.env.WITHOUT).toBe('nats,pgbouncer');
  expect(log).toHaveBeenCalledWith('Install it yourself.');
});

test('what WITHOUT names is neither looked for nor installed', async () => {
  vi.stubEnv('WITHOUT', 'nats');
  vi.stubEnv('NATS_SERVER_PATH', '/nowhere');
  expect(await findPrograms(['nats'])).toMatchObject([{ program: 'nats', isLeftOut: true, path: undefined }]);
  const log = vi.fn();
  const { signal } = new AbortController();
  expect([...(await installPrograms(['nats'], { log, signal }, failing)).keys()]).toEqual(['nats']);
  expect(log).not.toHaveBeenCalled();
});

test('a wrong set-up is no lack', async () => {
  vi.stubEnv('WITHOUT', '');
  vi.stubEnv('NATS_SERVER_PATH', '/nowhere');
  await expect(findPrograms(['nats'])).rejects.toThrow(/does not run as a nats-server/);
  vi.stubEnv('WITHOUT', 'nats,redis');
  await expect(findPrograms(['nats'])).rejects.toThrow('WITHOUT names redis.');
});

test('Ctrl-C while one is installed ends the run', async () => {
  vi.stubEnv('WITHOUT', '');
  const stopping = new AbortController();
  const aborted = ways({
    ensure: async () => {
      stopping.abort();
      throw new Error('killed');
    },
  });
  const installing = installPrograms(['nats'], { log: () => {}, signal: stopping.signal }, aborted);
  await expect(installing).rejects.toThrow(/abort/);
});
