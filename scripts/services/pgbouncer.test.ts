import { join } from 'node:path';
import { expect, test, vi } from 'vitest';
import { findPgBouncer, installing } from './pgbouncer-install.ts';
import { standIns } from './programs.fixture.ts';

const { folder, program } = standIns('PGBOUNCER_PATH');

test('PGBOUNCER_PATH goes before PATH, which goes before the rest', async () => {
  const path = program('pgbouncer', 'PgBouncer 1.99.0');
  vi.stubEnv('PATH', `${folder()}:${process.env.PATH}`);
  expect(await findPgBouncer()).toEqual({ path, env: {} });
  const asked = program('mine', 'PgBouncer 1.18.0');
  vi.stubEnv('PGBOUNCER_PATH', asked);
  expect(await findPgBouncer()).toEqual({ path: asked, env: {} });
});

test.each(['missing', 'other'])('PGBOUNCER_PATH that is no pgbouncer is refused: %s', async (name) => {
  program('other', 'redis-server v7');
  vi.stubEnv('PGBOUNCER_PATH', join(folder(), name));
  await expect(findPgBouncer()).rejects.toThrow(/does not run as a pgbouncer/);
});

test('only root brings the lists of packages up to date, and nobody installs a service', () => {
  const [first, ...rest] = installing(true).map((command) => command.join(' '));
  expect(first).toMatch(/^apt-get .*update$/);
  expect(rest).toEqual(installing(false).map((command) => command.join(' ')));
  expect(rest.join(' ')).not.toMatch(/apt-get (-\S+ )*install/);
});
