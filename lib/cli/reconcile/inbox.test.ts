import { expect, test } from 'vitest';
import { UsageError } from '../command.ts';
import { inboxAddress } from './inbox.ts';

const ADDRESS = 'postgresql://me:hunter2@127.0.0.1/crm';

test('an inbox is named by a variable', () => {
  expect(inboxAddress('CRM_URL', { CRM_URL: ADDRESS })).toBe(ADDRESS);
  expect(() => inboxAddress('CRM_URL', {})).toThrow('--inbox names the variable CRM_URL, which is not set.');
});

test.each([
  'postgresql://127.0.0.1/crm',
  'postgresql://127.0.0.1:5432/crm?sslmode=require',
  'postgresql://me@127.0.0.1:5432/crm',
  'postgresql:///crm?host=/tmp&user=me@crm',
  'postgresql://me@/crm?host=/tmp',
  'postgresql://me@127.0.0.1:5432/crm?options=a@b',
])('or by an address without a password: %s', (said) => {
  expect(inboxAddress(said, {})).toBe(said);
});

test.each([
  ADDRESS,
  'postgresql://me:hunter/2@127.0.0.1/crm',
  'postgresql://me:hunter?2@127.0.0.1/crm',
  'postgresql://me:@hunter2@127.0.0.1/crm',
  'postgresql://127.0.0.1/crm?user=me&password=hunter2',
  'postgresql://127.0.0.1/crm?user=me&passwor%64=hunter2',
  'postgresql://me@127.0.0.1/crm?sslpassword=hunter2',
  'postgresql://me:hunter2@/crm?host=/tmp',
  'postgresql://me:12/hunter@127.0.0.1/crm',
])('a password is not taken from the list of processes: %s', (said) => {
  const refused = () => inboxAddress(said, {});
  expect(refused).toThrow(UsageError);
  expect(refused).toThrow(/^--inbox has a password/);
  expect(refused).not.toThrow(/hunter/);
});
