import { expect, test } from 'vitest';
import { treeOf } from '../app/app.fixture.ts';
import { checkWebhooks } from './app.ts';

const file = 'lib/outbox.ts';
const look = (call: string, from = 'oncekit/messaging') =>
  checkWebhooks(treeOf({ [file]: `import { webhook } from '${from}';\n\nexport const publisher = ${call};\n` }));

test.each(['webhook({ url: customer.url, secrets })', 'webhook({\n  secrets: row.secrets,\n  url: row["hook"],\n})'])(
  '%s goes wherever a row says, and is named with its line',
  (call) => {
    expect(look(call)).toEqual([
      {
        check: 'Webhooks',
        level: 'warning',
        says: expect.stringContaining(`${file}:3 sends to a URL that is not fixed`),
        fix: expect.stringContaining('allowAddress: isPublicAddress'),
      },
    ]);
  },
);

test.each([
  `webhook({ url: 'https://shop.example/events', secrets })`,
  'webhook({ url: process.env.EVENTS_URL, secrets })',
  'webhook({ url, secrets })',
  'webhook({ url: customer.url, secrets, allowAddress: isPublicAddress })',
  '() => undefined // webhook({ url: customer.url })',
  `'webhook({ url: customer.url })'`,
])('%s is fixed, guarded, or none', (call) => {
  expect(look(call)).toEqual([]);
});

test('a webhook() of somebody else’s is none of ours', () => {
  expect(look('webhook({ url: customer.url })', './ours')).toEqual([]);
});
