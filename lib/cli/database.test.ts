import { expect, test } from 'vitest';
import { CliError } from './command.ts';
import { withDatabase } from './database.ts';

const nothing = async () => {};

const of = (password: string) => `postgresql://me:${password}@127.0.0.1:1/shop`;

test.each([
  'hunter/2',
  '12/hunter',
  '12/hunter/3',
  'p@12/hunter',
  '12?hunter',
  '12/?hunter',
  '12#hunter',
  'hunter#2',
  '12/x?hunter',
  '12/x?a&y=hunter',
])('of an address that %j cuts short nothing is told', async (password) => {
  const said = await withDatabase(of(password), nothing, '--inbox').catch((error: unknown) => error);
  expect(said).toBeInstanceOf(CliError);
  const { message, fix } = said as CliError;
  expect(message).toMatch(/^--inbox cannot be read/);
  expect(`${message}${fix}`).not.toMatch(/hunter|12|127|me:/);
});

test.each([
  of('hunter2'),
  of('a%2Fb%3Fc%23d%40e'),
  of('a%b'),
  of('a@b'),
  'postgresql://me:hunter2@%2Ftmp/shop?port=1',
  'postgresql:///shop?host=/tmp&port=1&user=me@shop',
  'postgresql://127.0.0.1:1/shop?user=me@shop',
  'postgresql://me@127.0.0.1:1/shop?sslmode=disable&options=-c%20a.b=c@d',
])('%s is read, and asked', async (url) => {
  const said = withDatabase(url, nothing);
  await expect(said).rejects.toThrow(/^No database answers at .*(ECONNREFUSED|ENOENT)/);
  await expect(said).rejects.not.toThrow(/hunter2/);
});

test('a file that is not there is said as what it is', async () => {
  const said = await withDatabase(`${of('hunter2')}?sslmode=verify-full&sslrootcert=/nope.pem`, nothing).catch(
    (error) => error,
  );
  expect(said).toBeInstanceOf(CliError);
  expect(said.message).toBe("DATABASE_URL cannot be used: ENOENT: no such file or directory, open '/nope.pem'.");
  expect(said.fix).toContain('sslrootcert');
});
