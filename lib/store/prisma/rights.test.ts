import { readFile } from 'node:fs/promises';
import { expect, test } from 'vitest';
import { grantsTo, rightsOn } from './rights.ts';
import { TABLES } from './tables.ts';

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
