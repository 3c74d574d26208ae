import { readFileSync } from 'node:fs';
import path from 'node:path';
import { importOf, type Place, placeOf } from './places.ts';
import { relativeImports, rewritten } from './rewrite.ts';

const root = path.resolve(import.meta.dirname, '../../..');

/** A file of an item, as it stands in the app that installs it. */
export interface RegistryFile {
  path: string;
  type: 'registry:component' | 'registry:lib' | 'registry:page' | 'registry:file';
  /** Only where its folder is not one of the app's own choice. */
  target?: string;
  content: string;
}

/** An item that `shadcn add` installs. */
export interface RegistryItem {
  name: string;
  type: 'registry:block' | 'registry:component';
  title: string;
  description: string;
  dependencies: string[];
  cssVars: { light: Record<string, string>; dark: Record<string, string> };
  files: RegistryFile[];
  docs: string;
}

interface Plan {
  type: RegistryItem['type'];
  title: string;
  description: string;
  /** Files of the demo: each brings what it imports. */
  from: string[];
  /** Files that the demo has no need of, by their place. */
  more?: Record<string, string>;
  docs: string;
}

const WHO_IS_ADMIN =
  'Nobody gets in yet. Say in lib/oncekit-admin.ts who is an admin, and where your Prisma client is (lib/prisma).';

const keysPages = ['page.tsx', 'detail/page.tsx', 'fence/page.tsx', 'erase/page.tsx', 'audit/page.tsx'];
const messagesPages = ['page.tsx', 'detail/page.tsx'];

const plans: Record<string, Plan> = {
  'submit-status': {
    type: 'registry:component',
    title: 'Submit status',
    description: 'Words for every state of an idempotent submit, each state in its colour.',
    from: ['components/form/submit-status.tsx'],
    docs: 'Give it what useIdempotentSubmit returns: <SubmitStatus submit={submit} />.',
  },
  'idempotent-form': {
    type: 'registry:component',
    title: 'Idempotent form',
    description: 'A form whose submit happens once: key, fields with their errors, button and words.',
    from: ['components/form/idempotent-form.tsx', 'components/ui/field.tsx'],
    docs: 'Its action comes from serverAction, its initialKey from issueKey: both are in oncekit/next.',
  },
  'error-pages': {
    type: 'registry:block',
    title: 'Error pages',
    description: 'error.tsx and global-error.tsx that find out what became of the form that was sent last.',
    from: ['app/error.tsx'],
    more: { 'app/global-error.tsx': 'global-error.tsx' },
    docs: 'They ask the status route, under /api/idempotency. Say in app/global-error.tsx which language your pages are in.',
  },
  'admin-keys': {
    type: 'registry:block',
    title: 'Admin view of keys',
    description:
      'Idempotency keys: list, filters, chart, one key with its timeline, and what a person can do about it.',
    from: keysPages.map((page) => `app/admin/keys/${page}`),
    more: { 'app/admin/keys/layout.tsx': 'layout.tsx', 'app/admin/instant.ts': 'instant.ts' },
    docs: `${WHO_IS_ADMIN} Then open /admin/keys.`,
  },
  'admin-messages': {
    type: 'registry:block',
    title: 'Admin view of messages',
    description: 'Outbox and inbox: what waits, what is dead, and what a person can do about it.',
    from: messagesPages.map((page) => `app/admin/messages/${page}`),
    more: { 'app/admin/messages/layout.tsx': 'layout.tsx', 'app/admin/instant.ts': 'instant.ts' },
    docs: `${WHO_IS_ADMIN} Name the page in components/oncekit/header.tsx, then open /admin/messages.`,
  },
};

/** The registry: every item with all its files, from the demo's own sources. The same for the same sources. */
export function registryItems(): RegistryItem[] {
  const colours = tones(read('app/globals.css'));
  return Object.entries(plans).map(([name, { from, more = {}, docs, ...about }]) => {
    const files = new Map(Object.entries(more).map(([at, template]) => [at, readTemplate(template)]));
    for (const file of from) gather(file, files);
    const all = [...files].sort(([one], [other]) => (one < other ? -1 : 1));
    return {
      name,
      ...about,
      dependencies: ['oncekit', ...(all.some(([, text]) => text.includes(`from 'zod'`)) ? ['zod'] : [])],
      cssVars: colours,
      files: all.map(([at, content]) => ({ path: at, ...kindOf(at), content })),
      docs,
    };
  });
}

/** Puts a file of the demo among those of an item, and with it what it imports. */
function gather(file: string, files: Map<string, string>): Place {
  const place = placeOf(file);
  if (files.has(place.at)) return place;
  const source = place.template ? readTemplate(place.template) : read(file);
  files.set(place.at, ''); // Files may import each other's types.
  const imported = new Map(
    relativeImports(source).map((specifier) => {
      const of = place.template ? neighbour(place, specifier) : path.posix.join(path.posix.dirname(file), specifier);
      return [specifier, gather(of, files)];
    }),
  );
  files.set(
    place.at,
    rewritten(source, (specifier) => importOf(imported.get(specifier)?.at ?? specifier, place.at)),
  );
  return place;
}

/** A neighbour that a template names is one of the shared components of the admin view. */
function neighbour({ at }: Place, specifier: string): string {
  if (!at.startsWith('components/')) throw new Error(`${at} has no neighbour ${specifier}.`);
  return path.posix.join('components/admin/shared', `${specifier}.tsx`);
}

function kindOf(at: string): Pick<RegistryFile, 'type' | 'target'> {
  if (at.startsWith('components/')) return { type: 'registry:component' };
  if (at.startsWith('lib/')) return { type: 'registry:lib' };
  return { type: at.endsWith('/page.tsx') ? 'registry:page' : 'registry:file', target: at };
}

const TONE = /--((?:good|bad|warn|info)(?:-surface)?): (#[0-9a-f]{6});/g;

/** The colours of good, bad, warn and info as the demo has them, light and dark. */
function tones(css: string): RegistryItem['cssVars'] {
  const [light = '', dark = ''] = css.split('@media (prefers-color-scheme: dark)');
  const of = (text: string) =>
    Object.fromEntries([...text.matchAll(TONE)].map(([, name, value = '']) => [`once-${name}`, value]));
  return { light: of(light), dark: of(dark) };
}

function readTemplate(name: string): string {
  return read(`scripts/package/registry/templates/${name}.template`);
}

function read(file: string): string {
  return readFileSync(path.join(root, file), 'utf8');
}
