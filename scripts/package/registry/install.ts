import { access, mkdir, readFile, writeFile } from 'node:fs/promises';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import path from 'node:path';
import { command } from '../pack/commands.ts';
import { registryItems } from './items.ts';
import { SHADCN } from './shadcn.ts';

const built = path.resolve(import.meta.dirname, '../../../public/r');
const CSS = 'app/registry.css';

/**
 * Installs every item of public/r into an app, as its developer would, and has TypeScript look at all of it. The app has
 * the kit, its client in lib/prisma.ts, what `oncekit init` writes, and a tsconfig with `@/*`. A stylesheet of its own
 * takes the colours, so that the app builds as before.
 *
 * Needs no network but npm's: without a `baseColor`, and for addresses of our own, shadcn asks nobody else.
 *
 * @throws with what a command has said that failed, or with the file that was not installed
 */
export async function installFromRegistry(app: string, signal: AbortSignal): Promise<void> {
  const items = registryItems();
  await mkdir(path.join(app, 'app'), { recursive: true });
  await writeFile(path.join(app, 'components.json'), JSON.stringify(COMPONENTS, null, 2));
  await writeFile(path.join(app, CSS), '@import "tailwindcss";\n');
  const served = await serve();
  try {
    const addresses = items.map(({ name }) => `${served.url}/r/${name}.json`);
    await command([...SHADCN, 'add', ...addresses, '--yes'], { cwd: app, signal });
  } finally {
    served.close();
  }
  for (const { path: at } of items.flatMap(({ files }) => files)) await access(path.join(app, at));
  const colours = await readFile(path.join(app, CSS), 'utf8');
  if (!colours.includes('--color-once-good: var(--once-good)')) throw new Error(`${CSS} has none of the colours.`);
  await command(['npx', 'tsc', '--noEmit', '-p', '.'], { cwd: app, signal });
}

/** public/r at an address of its own, as the demo serves it. */
async function serve(): Promise<{ url: string; close(): void }> {
  const server = createServer(async (request, response) => {
    const text = await readFile(path.join(built, path.basename(request.url ?? ''))).catch(() => undefined);
    response.writeHead(text ? 200 : 404, { 'content-type': 'application/json' }).end(text);
  });
  await new Promise<void>((listening) => server.listen(0, '127.0.0.1', listening));
  const { port } = server.address() as AddressInfo;
  return { url: `http://127.0.0.1:${port}`, close: () => server.close() };
}

const COMPONENTS = {
  $schema: 'https://ui.shadcn.com/schema.json',
  style: 'new-york',
  rsc: true,
  tsx: true,
  tailwind: { config: '', css: CSS, baseColor: '', cssVariables: true, prefix: '' },
  aliases: {
    components: '@/components',
    utils: '@/lib/utils',
    ui: '@/components/ui',
    lib: '@/lib',
    hooks: '@/hooks',
  },
  iconLibrary: 'lucide',
};
