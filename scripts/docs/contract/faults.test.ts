import { expect, test } from 'vitest';
import { contractFaults } from './faults.ts';

/** A repository in order: two rules, each with a test. */
const SOUND = {
  'docs/contract.md': '# The contract\n\n## K: keys\n\n- **K1** A key is short.\n- **K2** A key is signed.\n',
  'lib/key.test.ts': "test('K1 is short', () => {});\ntest.each([['K2 a forged one']])('%s', () => {});\n",
  'lib/key.ts': '/** Checks the length of a key (K1). */\nexport const fits = true;\n',
  'docs/adr/0001-keys.md': 'K2 wants a signature.\n',
  'docs/keys.md': 'A key is short.\n',
};

/** The check's faults, with these files in place of its own. */
function said(files: Record<string, string> = {}, reference = ''): string[] {
  const all = new Map(Object.entries({ ...SOUND, ...files }));
  return contractFaults(all, reference).map(({ file, line, advice }) => `${file}:${line} ${advice}`);
}

test('nothing is wrong with a repository in order', () => {
  expect(said()).toEqual([]);
});

test('a contract without rules is no contract that all is well with', () => {
  expect(said({ 'docs/contract.md': 'K1 A key is short.\n' })).toEqual([
    'docs/contract.md:1 has no rules. Write each as `- **K1** sentence`.',
  ]);
});

test.each([
  ['a comment', 'lib/key.ts', '\n// As K3 has it.\n', 2],
  ['a comment in an empty block', 'lib/key.ts', 'try {\n} catch {\n  // K3\n}\n', 3],
  ['a comment behind a member', 'components/key.tsx', 'const a = [\n  1, // K3\n  2,\n];\n', 2],
  ["a test's title", 'lib/key.db.test.ts', "describe('K3 keys', () => {});\n", 1],
  ['the title of a test that is skipped', 'e2e/key.e2e.ts', 'test.skip(`K3 key`, () => {});\n', 1],
  [
    'a table of titles',
    'lib/other.test.ts',
    "const ROWS = [\n  ['K3 a key', 1],\n];\ntest.each(ROWS)('%s', () => {});\n",
    2,
  ],
  ['an ADR', 'docs/adr/0001-keys.md', '# Keys\n\nAs K3 has it.\n', 3],
  ['a page of the code', 'ARCHITECTURE.md', 'See K3.\n', 1],
  ['a migration', 'prisma/migrations/1/migration.sql', 'SELECT 1;\n-- As K3 has it.\n', 2],
  ['a model', 'prisma/key.prisma', 'model Key {\n  id Int // K3\n}\n', 2],
])('a code that the contract lacks is found in %s', (_, file, content, line) => {
  expect(said({ [file]: content })).toEqual([
    `${file}:${line} K3 is not in docs/contract.md. Correct the code, or add the rule there.`,
  ]);
});

test('a rule that no test cites is found, also where all else cites it', () => {
  const untested = { 'lib/key.test.ts': "// K2\ntest('K1 is short', () => check('K2 is signed'));\n" };
  expect(said(untested)).toEqual([
    'docs/contract.md:6 no test cites K2. Begin the title of a test that holds the rule with it.',
  ]);
});

test.each([
  ['a guide', 'docs/keys.md', 'A key is short.\n\nSee K1.\n', 3],
  ['a page of an error', 'docs/errors/key_malformed.md', '# key_malformed\n\ncontract: K1\n', 3],
  ['the README', 'README.md', '| rule |\n|---|\n| K1 |\n', 3],
  ['what the conformance suite says', 'lib/testing/conformance/keys.ts', "\nconformanceCase('K1', 'no key');\n", 2],
  ['a text of the demo', 'app/page.ts', "export const lead = 'Every key is short, by K1.';\n", 1],
])('a code in a text for users is found: %s', (_, file, content, line) => {
  expect(said({ [file]: content })).toEqual([
    `${file}:${line} K1 stands in a text for users. Say the rule in words: codes are for the code.`,
  ]);
});

test('a code in the message of an error is found', () => {
  const content = "if (isLong)\n  throw new ConfigurationError(`It is too long (K1).`, 'shorten it');\n";
  expect(said({ 'lib/key.ts': content })).toEqual([
    'lib/key.ts:2 K1 stands in the message of an error. Say the rule in words: codes are for the code.',
  ]);
});

test('a code in a public docstring is found where it is written, and one in an internal docstring is none', () => {
  const content = `
/** Cuts what is too long, as K1 wants it. */
function cut() {}

export interface Key {
  /**
   * Short enough for
   * every header (K1).
   */
  text: string;
}
`;
  const reference = '### Key\n\n| `text` | `string` | Short enough for every header (K1). |\n';
  expect(said({ 'lib/key.ts': content }, reference)).toEqual([
    'lib/key.ts:8 K1 stands in a docstring of the public API. Say the rule in words: codes are for the code.',
  ]);
});

test('what only looks like a code is none', () => {
  const content = `
/** Prisma's P2028 and K2000, SQLSTATE 40K01, a sheet of A4, %K3, $K3 and K3.js. */
const path = 'M4 K3 19 7';
const text = 'the key K3x of many';
const row = { state: 'K3' };
`;
  expect(said({ 'lib/key.ts': content, 'lib/data.test.ts': "expect(codeOf('the town of K3')).toBe('K3');\n" })).toEqual(
    [],
  );
});
