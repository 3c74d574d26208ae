import { type FileTree, sourceFiles } from '../app/file-tree.ts';
import { type App, installed } from '../app/next-app.ts';
import type { ClientModule } from '../app/prisma-client.ts';
import { blanked, withoutComments } from '../app/source-text.ts';
import type { Plan } from './plan.ts';

const PRISMAS = '@prisma/adapter-pg';
const OURS = 'oncekit/adapter-pg';
const IMPORT = /\bimport\s*\{\s*PrismaPg(?:\s+as\s+\w+)?\s*,?\s*\}\s*from\s*['"]/;

/** The one line that makes the pool of a client the kit's. */
export const ADAPTER_LINE = `import { PrismaPg } from '${OURS}';`;

/**
 * Lets the app's client take the kit's `PrismaPg`, which has Prisma's arguments: one word of an import, where that stands
 * there in plain form. Otherwise it says what to change, unless a pool is the kit's already or Prisma's adapter is not there.
 */
export function planAdapter(tree: FileTree, { packageJson }: App, client: ClientModule | undefined): Plan {
  const plan: Plan = { writes: [], kept: [], notes: [] };
  if (!client || !installed(packageJson)[PRISMAS] || isThere(tree)) return plan;
  const { file } = client;
  const before = tree.read(file) ?? '';
  const content = exchanged(before, PRISMAS, OURS);
  if (content !== undefined) plan.writes.push({ file, before, content });
  else
    plan.notes.push(
      `${file} should make its client with the kit's adapter: ${ADAPTER_LINE} Its arguments are the same.`,
    );
  return plan;
}

/** In any file, for the adapter need not be made beside the client. */
function isThere(tree: FileTree): boolean {
  const mentions = /\boncekitPool\s*\(|['"]oncekit\/adapter-pg['"]/;
  return sourceFiles(tree).some(({ text }) => text.includes('oncekit') && mentions.test(withoutComments(text)));
}

/** Gives the app's files Prisma's own adapter back, where they import the kit's in plain form. */
export function planAdapterRemoval(tree: FileTree): Plan {
  const writes = sourceFiles(tree).flatMap(({ file, text: before }) => {
    const content = before.includes(OURS) ? exchanged(before, OURS, PRISMAS) : undefined;
    return content === undefined ? [] : [{ file, before, content }];
  });
  return { writes, kept: [], notes: [] };
}

/** undefined where it is not imported in plain form, or in another form as well. */
function exchanged(source: string, from: string, to: string): string | undefined {
  const mentions = withoutComments(source).split(from).length - 1;
  // Positions are those of the source; strings and comments are empty, so that what is found is an import.
  const found = IMPORT.exec(blanked(source));
  if (!found || mentions !== 1) return undefined;
  const at = found.index + found[0].length;
  return source.startsWith(from, at) ? source.slice(0, at) + to + source.slice(at + from.length) : undefined;
}
