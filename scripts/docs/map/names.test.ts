import { expect, test } from 'vitest';
import { nameFaults } from './names.ts';

const said = (files: Record<string, string>) =>
  nameFaults(new Map(Object.entries(files))).map(({ file, line, advice }) => `${file}:${line} ${advice}`);

test.each([
  ['a type', 'lib/engine/plan.ts', 'lib/store/prisma/plan.ts', 'export interface Plan {}', 'export type Plan = 1;'],
  ['of one room', 'lib/engine/a.ts', 'lib/engine/phases/b.ts', 'export function Plan() {}', 'export class Plan {}'],
  ['of another room', 'lib/cli/plan.ts', 'lib/store/plan.ts', 'export const Plan = 1;', 'export enum Plan {}'],
  [
    'one of two',
    'lib/core/plan.ts',
    'lib/engine/plan.tsx',
    'export interface Plan {}',
    'export const a = 1, Plan = 2;',
  ],
])('a name that two files export is found: %s', (_, first, second, one, other) => {
  expect(said({ [first]: one, [second]: `\n/** Documented. */\n${other}\n` })).toEqual([
    `${second}:3 exports Plan, as ${first} does. Rename one of them, or make them one.`,
  ]);
});

test('a name may stand twice where it is private, brought from the other, overloaded, a test’s, or of other rooms', () => {
  const plan =
    'export interface Plan {}\nfunction run() {}\nexport function once(a: 1): void;\nexport function once() {}\n';
  expect(
    said({
      'lib/engine/plan.ts': plan,
      'lib/engine/other.ts': "export { Plan } from './plan.ts';\nfunction run() {}\n",
      'lib/engine/plan.fixture.ts': plan,
      'shop/plan.ts': plan,
      'lib/next/form.tsx': 'export function Form() {}\n',
      'lib/react/form.tsx': 'export function Form() {}\n',
    }),
  ).toEqual([]);
});
