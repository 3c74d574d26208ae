import { describe, expect, test } from 'vitest';
import { APP, type Files, ready, treeOf, without } from '../app/app.fixture.ts';
import { CliError } from '../command.ts';
import { planInit } from '../init/init.ts';
import { readKitFiles } from '../init/kit-files.ts';
import type { Plan } from '../init/plan.ts';
import { planForm, planOperation } from './add.ts';

const init = { now: new Date(), secret: () => 'x'.repeat(43) };

/** An app as init leaves it. */
function initialised(files: Files = APP): Files {
  return written(files, planInit(treeOf(files), readKitFiles(), init));
}

const written = (files: Files, { writes }: Plan): Files => ({
  ...files,
  ...Object.fromEntries(writes.map(({ file, content }) => [file, content])),
});
const contentOf = ({ writes }: Plan, file: string) => writes.find((write) => write.file === file)?.content;
const namesOf = ({ writes }: Plan) => writes.map(({ file }) => file);

const BELOW_SRC: Files = {
  ...without('app/', 'lib/', 'tsconfig.json'),
  'tsconfig.json': '{}',
  'src/app/page.tsx': '',
  'src/lib/prisma.ts': APP['lib/prisma.ts'] as string,
};

test('an operation is a file of its own, and listed', () => {
  const app = initialised();
  const plan = planOperation(treeOf(app), 'PlaceOrder');
  expect(namesOf(plan)).toEqual(['lib/place-order.ts', 'lib/operations.ts']);
  expect(contentOf(plan, 'lib/place-order.ts')).toContain("import { idempotency } from '@/lib/idempotency';");
  expect(contentOf(plan, 'lib/place-order.ts')).toContain("placeOrder = idempotency.operation({ name: 'place-order'");
  expect(contentOf(plan, 'lib/operations.ts')).toContain("import { placeOrder } from '@/lib/place-order';");
  expect(contentOf(plan, 'lib/operations.ts')).toContain('export const operations = [placeOrder] as const;');
  expect(plan.next).toEqual(['Install what checks the input: npm install zod']);
  const second = planOperation(treeOf(written(app, plan)), 'vote');
  expect(contentOf(second, 'lib/operations.ts')).toContain('[placeOrder, vote] as const');
});

test('in an app below src/ without an alias the imports are relative', () => {
  const plan = planForm(treeOf(initialised(BELOW_SRC)), 'vote');
  expect(namesOf(plan)).toEqual([
    'src/lib/vote.ts',
    'src/lib/operations.ts',
    'src/app/vote/actions.ts',
    'src/app/vote/page.tsx',
  ]);
  expect(contentOf(plan, 'src/lib/vote.ts')).toContain("from './idempotency'");
  expect(contentOf(plan, 'src/lib/operations.ts')).toContain("import { vote } from './vote'");
  expect(contentOf(plan, 'src/app/vote/actions.ts')).toContain("import { vote } from '../../lib/vote'");
});

test('where package.json says where the modules are, the operation goes beside them', () => {
  const packageJson = JSON.parse(APP['package.json'] as string);
  const oncekit = { idempotency: 'server/once', operations: 'server/all' };
  const app = initialised({ ...APP, 'package.json': JSON.stringify({ ...packageJson, oncekit }) });
  const plan = planOperation(treeOf(app), 'vote');
  expect(namesOf(plan)).toEqual(['server/vote.ts', 'server/all.ts']);
  expect(contentOf(plan, 'server/vote.ts')).toContain("import { idempotency } from '@/server/once';");
});

describe('a form', () => {
  test('for an operation that is there takes it as it is, by either of its names', () => {
    const app = ready();
    for (const name of ['checkout', 'Checkout']) {
      const plan = planForm(treeOf(app), name);
      expect(namesOf(plan)).toEqual(['app/checkout/actions.ts', 'app/checkout/page.tsx']);
      expect(contentOf(plan, 'app/checkout/actions.ts')).toContain("import { checkout } from '@/lib/checkout';");
      expect(plan.next).toContain('Write its fields into app/checkout/page.tsx');
    }
  });

  test('takes the action, which knows its operation', () => {
    const text = "export const placeOrder = idempotency.operation({ name: 'orders.create', schema }).handler(run);";
    const plan = planForm(treeOf({ ...ready(), 'lib/o.ts': text }), 'place-order');
    expect(contentOf(plan, 'app/place-order/actions.ts')).toContain('serverAction(placeOrder)');
    expect(contentOf(plan, 'app/place-order/page.tsx')).toContain(
      '<IdempotentForm action={placeOrderAction} intent="new">',
    );
  });

  test.each(['page.tsx', 'actions.ts', 'page.js'])('never takes the place of a %s', (name) => {
    const app = { ...ready(), [`app/checkout/${name}`]: 'mine' };
    expect(() => planForm(treeOf(app), 'checkout')).toThrow(`app/checkout/${name} is there already`);
  });
});

test('a list that is not plain stays, and is named', () => {
  const app = { ...initialised(), 'lib/operations.ts': 'export const operations = collect();' };
  const plan = planOperation(treeOf(app), 'vote');
  expect(namesOf(plan)).toEqual(['lib/vote.ts']);
  expect(plan.kept).toEqual(['lib/operations.ts has no plain list: add vote to `operations` yourself.']);
});

test.each<[string, Files, string, string]>([
  ['an app without the kit', APP, 'vote', 'The kit is not set up here'],
  ['an operation of that name', ready(), 'checkout', 'There is an operation checkout already, in lib/checkout.ts.'],
  ['a file of that name', { ...initialised(), 'lib/vote.ts': 'mine' }, 'vote', 'lib/vote.ts is there already'],
  ['a name with a slash', initialised(), '../vote', '"../vote" cannot be the name of an operation.'],
  ['no name', initialised(), '', '"" cannot be the name'],
  ['a digit at first', initialised(), '2fa', 'cannot be the name'],
  ['a word of the language', initialised(), 'delete', '"delete" has a meaning of its own in code.'],
])('add operation on %s', (_, files, name, sentence) => {
  const adding = () => planOperation(treeOf(files), name);
  expect(adding).toThrow(CliError);
  expect(adding).toThrow(sentence);
});
