import path from 'node:path';

/** The place of a file of the demo in somebody else's app. */
export interface Place {
  /** In their app, from the root or from `src`. */
  at: string;
  /** A file of `scripts/package/registry/templates` that stands there instead: what only its developer can say. */
  template?: string;
}

const COMPONENTS = 'components/oncekit';

/** Files that each app writes in its own words: who is an admin, what belongs to a key, which pages there are. */
const seams: Record<string, Place> = {
  'app/admin/require-admin.ts': { at: 'lib/oncekit-admin.ts', template: 'oncekit-admin.ts' },
  'shop/admin/admin.ts': { at: 'lib/oncekit-admin.ts', template: 'oncekit-admin.ts' },
  'shop/admin/linked.ts': { at: 'lib/oncekit-admin.ts', template: 'oncekit-admin.ts' },
  'shop/admin/messages.ts': { at: 'lib/oncekit-admin-messages.ts', template: 'oncekit-admin-messages.ts' },
  'app/admin/header.tsx': { at: `${COMPONENTS}/header.tsx`, template: 'header.tsx' },
};

/**
 * Finds the place of a file. All components stand in one folder, named by their files: shadcn's command line takes each
 * folder `ui`, `lib` or `hooks` in an import for the app's own.
 *
 * @throws for a file that no other app can have, such as the shop's domain
 */
export function placeOf(file: string): Place {
  const seam = seams[file];
  if (seam) return seam;
  const plain =
    /^shop\/admin\/((?:acts|call-answer|clock|messages-acts|messages-query|names|of-all-tenants|once|query)\.ts)$/.exec(
      file,
    )?.[1];
  if (plain) return { at: `lib/oncekit-admin-${plain}` };
  if (/^components\/(admin|form|ui)\//.test(file)) return { at: `${COMPONENTS}/${path.basename(file)}` };
  if (/^app\/(error\.tsx$|admin\/(keys|messages)\/)/.test(file)) return { at: file };
  throw new Error(`${file} is the demo's own, and cannot be installed elsewhere.`);
}

/** How one file of an app imports another: within a folder as neighbours, else by the alias. Without the extension. */
export function importOf(to: string, from: string): string {
  const bare = to.replace(/\.tsx?$/, '');
  const areNear = to.split('/')[0] === from.split('/')[0];
  if (!areNear) return `@/${bare}`;
  const relative = path.posix.relative(path.posix.dirname(from), bare);
  return relative.startsWith('.') ? relative : `./${relative}`;
}
