import { expect, test } from 'vitest';
import { APP, treeOf } from './app.fixture.ts';
import { findBox, unexportedBox } from './messaging-modules.ts';

const find = (files: Record<string, string>) => findBox(treeOf({ ...APP, ...files }), 'outbox');
const crm = "{ prisma, destinations: [{ name: 'crm', publisher }] }";

test.each([
  ['a constant', `export const outbox = createOutbox(${crm});`, 'outbox'],
  ['a constant of another name', `export const events = createOutbox(${crm});`, 'events'],
  ['one with a type', `export const outbox: Outbox = createOutbox(${crm});`, 'outbox'],
  ['one on a line of its own', `export const outbox =\n  createOutbox<Client>(${crm});`, 'outbox'],
  ['one that survives a reload', `export const outbox = (globalThis.outbox ??= createOutbox(${crm}));`, 'outbox'],
  ['a list of exports', `const box = createOutbox(${crm});\nexport { prisma, box as outbox };`, 'outbox'],
  ['a list with its own name', `const outbox = createOutbox(${crm});\nexport { outbox, prisma };`, 'outbox'],
  ['the default', `const box = createOutbox(${crm});\nexport default box;`, 'default'],
  ['nothing', `const outbox = createOutbox(${crm});`, undefined],
])('an outbox is found by %s', (_, text, exported) => {
  expect(find({ 'server/events.ts': `import { prisma } from './db'\n${text}\n` })).toEqual({
    file: 'server/events.ts',
    exported,
  });
});

test('the one that others can import comes before one that they cannot, and lib/messaging.ts before all', () => {
  const exported = `export const outbox = createOutbox(${crm});`;
  const hidden = `const outbox = createOutbox(${crm});`;
  expect(find({ 'app/a.ts': hidden, 'server/b.ts': exported })?.file).toBe('server/b.ts');
  expect(find({ 'app/a.ts': exported, 'src/lib/messaging.ts': exported })?.file).toBe('src/lib/messaging.ts');
});

test('what makes none is passed over: comments, strings, tests, and the bare one of the admin pages', () => {
  const bare = 'const outbox = createOutbox({ prisma, destinations: [] });';
  expect(find({ 'lib/a.ts': `// export const outbox = createOutbox(${crm});` })).toBeUndefined();
  expect(find({ 'lib/a.test.ts': `export const outbox = createOutbox(${crm});` })).toBeUndefined();
  expect(find({ 'lib/oncekit-admin-messages.ts': bare })).toBeUndefined();
  const tree = treeOf({ ...APP, 'lib/a.ts': 'const inbox = createInbox({ prisma });' });
  expect([unexportedBox(tree, 'inbox'), unexportedBox(tree, 'outbox')]).toEqual([undefined, undefined]);
});

test('of one that no worker can import a person is told the file and the line to write', () => {
  const tree = treeOf({ ...APP, 'lib/a.ts': 'const inbox = createInbox({ prisma, sources: { bank: { handle } } });' });
  expect(unexportedBox(tree, 'inbox')).toEqual({
    says: 'lib/a.ts does not export its inbox, so no worker runs its failed events again.',
    fix: 'Write there: export const inbox = createInbox({ … });',
  });
});
