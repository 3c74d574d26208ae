import { type FileTree, filesBelow } from './file-tree.ts';
import { withoutComments } from './source-text.ts';

/** The module that makes the app's Prisma client. */
export interface ClientModule {
  file: string;
  /** The name under which it exports the client. */
  exported: string;
}

/** The likely files, most likely first; below `src/` too. */
const LIKELY = [
  'lib/prisma',
  'lib/db',
  'lib/prisma/index',
  'lib/db/index',
  'server/db',
  'server/prisma',
  'db',
  'prisma',
];
const NAMES = ['prisma', 'db', 'client', 'prismaClient', 'database', 'default'];

/** undefined where no module both makes a client and exports one. */
export function findClient(tree: FileTree): ClientModule | undefined {
  const likely = LIKELY.flatMap((name) => ['', 'src/'].flatMap((src) => [`${src}${name}.ts`, `${src}${name}.tsx`]));
  const all = () => filesBelow(tree, '', /(?<!\.d|\.test|\.spec)\.tsx?$/);
  for (const files of [likely, all()]) {
    for (const file of files) {
      const exported = exportOf(tree.read(file));
      if (exported) return { file, exported };
    }
  }
  return undefined;
}

function exportOf(text: string | undefined): string | undefined {
  if (!text?.includes('PrismaClient')) return undefined;
  const source = withoutComments(text);
  // A client that somebody else uses: a seed or a script makes its own, and exports none.
  if (!/\bnew\s+PrismaClient\b/.test(source)) return undefined;
  const declared = [...source.matchAll(/\bexport\s+(?:const|let|var)\s+(\w+)/g)].map(([, name]) => name ?? '');
  const listed = [...source.matchAll(/\bexport\s*\{([^}]*)\}/g)]
    .flatMap(([, names]) => (names ?? '').split(','))
    .map((one) => /\w+(?=\s*$)/.exec(one)?.[0] ?? '');
  const byDefault = /\bexport\s+default\b/.test(source) ? ['default'] : [];
  const exported = [...declared, ...listed, ...byDefault];
  return NAMES.find((name) => exported.includes(name));
}
