/**
 * `npm run build:registry`: what `shadcn add <the demo's address>/r/<name>.json` installs, from the demo's own files
 * (package/registry/items.ts). A test holds that what lies in public/r is what this makes.
 */
import { mkdir, mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { registryItems } from './package/registry/items.ts';
import { SHADCN } from './package/registry/shadcn.ts';
import { runVisibly } from './services/programs.ts';

const root = path.resolve(import.meta.dirname, '..');
const output = path.join(root, 'public/r');
const work = await mkdtemp(path.join(tmpdir(), 'oncekit-registry-'));

try {
  const items = registryItems();
  for (const { path: at, content } of items.flatMap(({ files }) => files)) {
    await mkdir(path.join(work, path.dirname(at)), { recursive: true });
    await writeFile(path.join(work, at), content);
  }
  const listed = items.map(({ files, ...item }) => ({
    ...item,
    files: files.map(({ content: _, ...file }) => file),
  }));
  await writeFile(
    path.join(work, 'registry.json'),
    JSON.stringify({
      $schema: 'https://ui.shadcn.com/schema/registry.json',
      name: 'oncekit',
      homepage: 'https://github.com/oncekit/oncekit',
      items: listed,
    }),
  );
  // An item that is not made any more would be served on.
  await rm(output, { recursive: true, force: true });
  await runVisibly([...SHADCN, 'build', 'registry.json', '--cwd', work, '--output', output], { cwd: work });
  // As `npm run check` wants to see them.
  await runVisibly([path.join(root, 'node_modules/.bin/biome'), 'format', '--write', output], { cwd: root });
} finally {
  await rm(work, { recursive: true, force: true });
}
