import { readFile } from 'node:fs/promises';
import { expect, test } from 'vitest';
import { createIdempotency } from '../../index.ts';
import { createInbox, createOutbox } from '../../messaging/prisma.ts';
import { grantsTo, renamerOf, rightsOn, TABLES, type Tables } from './tables.ts';

test('without names of its own a statement stays the same string', () => {
  for (const none of [undefined, {}, { schema: undefined }]) expect(renamerOf(none)).toBeUndefined();
});

test('tables get their schema and their names, wherever they stand, and nothing else does', () => {
  const rename = renamerOf({ schema: 'Billing', idempotency_keys: 'request-keys' });
  expect(rename?.(`UPDATE idempotency_keys SET a = idempotency_keys.a FROM idempotency_events e`)).toBe(
    'UPDATE "Billing"."request-keys" SET a = "Billing"."request-keys".a FROM "Billing"."idempotency_events" e',
  );
  expect(
    rename?.(`SELECT 'idempotency_keys'::regclass, "idempotency_keys", idempotency_keys_pkey, other.inbox_events`),
  ).toBe(`SELECT '"Billing"."request-keys"'::regclass, "idempotency_keys", idempotency_keys_pkey, other.inbox_events`);
  expect(renamerOf({ inbox_events: 'mail' })?.('SELECT * FROM inbox_events, idempotency_keys')).toBe(
    'SELECT * FROM "mail", "idempotency_keys"',
  );
});

test('a text is rewritten once, and what is rewritten is not rewritten again', () => {
  const rename = renamerOf({ schema: 'idempotency_keys', idempotency_keys: 'outbox_events', outbox_events: 'old' });
  const text = 'SELECT * FROM idempotency_keys, outbox_events';
  const renamed = rename?.(text) as string;
  expect(renamed).toBe('SELECT * FROM "idempotency_keys"."outbox_events", "idempotency_keys"."old"');
  expect(rename?.(renamed)).toBe(renamed);
});

test.each<[string, Record<string, unknown>, RegExp]>([
  ['a name with a quote', { schema: 'a"; DROP TABLE users; --' }, /name of schema/],
  ['a qualified name', { idempotency_keys: 'billing.keys' }, /name of idempotency_keys/],
  ['an empty name', { idempotency_keys: '' }, /name of idempotency_keys/],
  ['a name that PostgreSQL would cut off', { idempotency_keys: 'k'.repeat(64) }, /name of idempotency_keys/],
  ['no text', { schema: 7 }, /name of schema/],
  ['a table that the kit does not know', { keys: 'mine' }, /keys is no table/],
  ['one name for two', { idempotency_keys: 'mine', inbox_events: 'mine' }, /cannot be one/],
  ['the name of another one', { idempotency_keys: 'inbox_events' }, /cannot be one/],
])('%s is refused where the kit is set up', (_, given, message) => {
  const tables = given as Tables;
  const prisma = {} as never;
  const set = [
    () => createIdempotency({ prisma, tables }),
    () => createOutbox({ prisma, destinations: [], tables }),
    () => createInbox({ prisma, tables }),
  ];
  for (const up of set)
    expect(up).toThrow(
      expect.objectContaining({ name: 'ConfigurationError', message: expect.stringMatching(message) }),
    );
});

test('A7 the rights that the guide grants are those that doctor asks for and the tests run with', async () => {
  const guide = await readFile(new URL('../../../docs/deployment.md', import.meta.url), 'utf8');
  for (const grant of grantsTo('shop_app')) expect(guide.replace(/\s+/g, ' ')).toContain(`${grant};`);
  expect(TABLES.filter((table) => !rightsOn(table).includes('UPDATE'))).toEqual([
    'idempotency_events',
    'idempotency_audit',
    'outbox_stops',
    'message_events',
  ]);
});
