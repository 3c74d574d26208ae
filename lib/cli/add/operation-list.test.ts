import { expect, test } from 'vitest';
import { APP, treeOf } from '../app/app.fixture.ts';
import { operationsIn } from '../app/source-text.ts';
import { planInit } from '../init/init.ts';
import { readKitFiles } from '../init/kit-files.ts';
import { withOperation } from './add.ts';

const vote = { exported: 'vote', from: './vote' };

test('the list that init has written gets its first operation', () => {
  const { writes } = planInit(treeOf(APP), readKitFiles(), { now: new Date(), secret: () => 'x'.repeat(43) });
  const { content = '' } = writes.find(({ file }) => file === 'lib/operations.ts') ?? {};
  expect(withOperation(content, vote)?.replace(/^\/\/.*\n/gm, '')).toBe(
    "import { vote } from './vote';\n\nexport const operations = [vote] as const;\n",
  );
});

test.each([
  [
    'in one line',
    "import { a } from './a';\n\nexport const operations = [a] as const;\n",
    "import { a } from './a';\nimport { vote } from './vote';\n\nexport const operations = [a, vote] as const;\n",
  ],
  [
    'a line each',
    'import {\n  a,\n  b,\n} from "./ab"\nimport "./start";\nexport const operations = [\n  a,\n  b,\n];\n',
    'import {\n  a,\n  b,\n} from "./ab"\nimport "./start";\nimport { vote } from \'./vote\';\nexport const operations = [\n  a,\n  b,\n  vote,\n];\n',
  ],
  [
    'without a comma behind the last one',
    'export const operations = [\n  // "]" is no end\n  a\n];\n',
    'import { vote } from \'./vote\';\n\nexport const operations = [\n  // "]" is no end\n  a,\n  vote,\n];\n',
  ],
])('a list %s', (_, before, after) => {
  expect(withOperation(before, vote)).toBe(after);
});

test.each([
  'export const operations = await all();\n',
  'export const operations = [...[a]];\n',
  '// export const operations = [];\nexport { operations } from "./all";\n',
])('what is no plain list is left to a person: %j', (source) => {
  expect(withOperation(source, vote)).toBeUndefined();
});

test('operations are found by the names that keys and code have for them', () => {
  const source = `
// export const no = idempotency.operation({ name: 'no' })
export const placeOrder = kit.idempotency
  .operation({ schema: z.object({ name: z.string() }), name: 'orders.create' });
const hidden = idempotency.operation({ name: 'hidden', schema });
export const vote = idempotency.operation({ name: "vote", schema }).handler(run);`;
  const found = operationsIn(source).map(({ exported, name }) => `${exported} ${name}`);
  expect(found).toEqual(['placeOrder orders.create', 'undefined hidden', 'vote vote']);
});
