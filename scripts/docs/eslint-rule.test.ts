import { readFile } from 'node:fs/promises';
import { ESLint, type Linter } from 'eslint';
import { describe, expect, test } from 'vitest';

/** The rule of docs/mistakes.md, as a reader copies it, run by ESLint. */
async function lint(handler: string): Promise<string[]> {
  const page = await readFile('docs/mistakes.md', 'utf8');
  const [, config = ''] = /```ts\n(\/\/ eslint\.config\.mjs\n[\s\S]*?)```/.exec(page) ?? [];
  const written = (await import(`data:text/javascript,${encodeURIComponent(config)}`)) as { default: Linter.Config[] };
  const eslint = new ESLint({ overrideConfigFile: true, overrideConfig: written.default });
  const [result] = await eslint.lintText(`export const note = idempotency.operation({ name: 'note' })${handler};`, {
    filePath: 'note.js',
  });
  return result?.messages.map(({ message }) => message) ?? [];
}

describe('the ESLint rule of the docs', () => {
  test.each([
    ['a model of the client', '.handler(async ({ input }) => { await prisma.order.create({ data: input }); })'],
    ['raw SQL', '.handler(async () => prisma.$executeRaw`DELETE FROM orders`)'],
    ['a function that gives the client', '.handler(async () => db().order.count())'],
    [
      'a function within the handler',
      '.handler(async () => { const later = () => prisma.order.count(); await later(); })',
    ],
    ['a phase', ".phases(async ({ atomic }) => atomic('first', async () => prisma.order.count()))"],
  ])('finds %s', async (_, handler) => {
    expect(await lint(handler)).toEqual([expect.stringMatching(/Write through `tx`/)]);
  });

  test.each([
    ['tx', '.handler(async ({ tx, input }) => { await tx.order.create({ data: input }); })'],
    [
      'what is meant to be outside',
      '.handler(async () => { await outside(() => prisma.attempt.create({ data: {} })); })',
    ],
    ['what runs behind the commit', '.handler(async ({ afterCommit }) => afterCommit(() => prisma.view.update({})))'],
    ['a field of that name', '.handler(async ({ input }) => input.prisma)'],
    ['the client elsewhere', '; export const count = () => prisma.order.count()'],
  ])('lets %s be', async (_, handler) => {
    expect(await lint(handler)).toEqual([]);
  });
});
