import { type FileTree, filesBelow } from './file-tree.ts';
import { blanked, callAt, withoutComments } from './source-text.ts';

/** A worker drives these besides keys. */
export type Box = 'outbox' | 'inbox';

export const BOXES: readonly Box[] = ['outbox', 'inbox'];

/** A module that makes an outbox or an inbox. */
const MAKES: Record<Box, string> = { outbox: 'createOutbox', inbox: 'createInbox' };

/** The likely files, most likely first; below `src/` too. */
const LIKELY = ['lib/messaging.ts', 'lib/outbox.ts', 'lib/inbox.ts'].flatMap((name) => [name, `src/${name}`]);

/**
 * The module that exports an outbox or inbox, with the name under which others can import it; else one that makes it for itself,
 * without a name. Undefined where no file makes one.
 */
export function findBox(tree: FileTree, box: Box) {
  let hidden: { file: string; exported: string | undefined } | undefined;
  for (const file of [...LIKELY, ...filesBelow(tree)]) {
    const text = tree.read(file);
    if (!text?.includes(MAKES[box])) continue;
    const source = withoutComments(text);
    const exported = exportOf(blanked(source), MAKES[box]);
    if (exported) return { file, exported };
    if (DOES_SOMETHING.test(callAt(source, MAKES[box]) ?? '')) hidden ??= { file, exported };
  }
  return hidden;
}

/** The pages of the admin view make themselves a bare one to read by, which has nothing to send or to run again. */
const DOES_SOMETHING = /\b(destinations|sources)\b(?!\s*:\s*(\[\s*\]|\{\s*\}))/;

/** The name of `export const outbox = createOutbox(…)`, or of a constant that is exported below. */
function exportOf(code: string, make: string): string | undefined {
  const made = new RegExp(`(\\bexport\\s+)?\\b(?:const|let|var)\\s+(\\w+)[^=;]*=\\s*[^;\\n]*\\b${make}\\s*[(<]`).exec(
    code,
  );
  const [, isExported, name] = made ?? [];
  if (!name || isExported) return name;
  if (new RegExp(`\\bexport\\s+default\\s+${name}\\b`).test(code)) return 'default';
  const listed = new RegExp(`\\bexport\\s*\\{[^}]*\\b${name}(?:\\s+as\\s+(\\w+))?\\s*[,}]`).exec(code);
  return listed ? (listed[1] ?? name) : undefined;
}

/** A warning about an outbox or inbox that no worker can import; undefined where there is none. */
export function unexportedBox(tree: FileTree, box: Box): { says: string; fix: string } | undefined {
  const found = findBox(tree, box);
  if (!found || found.exported) return undefined;
  const lacks = box === 'outbox' ? 'no worker sends its events' : 'no worker runs its failed events again';
  return {
    says: `${found.file} does not export its ${box}, so ${lacks}.`,
    fix: `Write there: export const ${box} = ${MAKES[box]}({ … });`,
  };
}
