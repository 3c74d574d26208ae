import path from 'node:path';
import { build } from 'esbuild';
import { command } from './commands.ts';
import { ownPackage } from './tarball.ts';

/** These run in browsers. */
const BROWSER = ['oncekit/react', 'oncekit/http'];

/** Every entry loads in plain Node, by `import` and by the `require` of an app that is CommonJS. */
export async function loadsInNode(app: string, signal: AbortSignal): Promise<void> {
  const names = (await entryNames()).filter((name) => !BROWSER.includes(name) || name === 'oncekit/http');
  const imports = `for (const name of ${JSON.stringify(names)}) await import(name);`;
  await command([process.execPath, '--input-type=module', '-e', imports], { cwd: app, signal });
  const requires = `for (const name of ${JSON.stringify(names)}) require(name);`;
  await command([process.execPath, '--no-warnings', '-e', requires], { cwd: app, signal });
}

/** Checks an entry for browsers: it can be bundled, and nothing of Node is in it. */
export async function isForBrowsers(app: string): Promise<void> {
  for (const name of BROWSER) await bundle(app, `export * from '${name}';`);
}

/** Of an entry that is imported and not used nothing remains. */
export async function leavesNothingUnused(app: string): Promise<void> {
  for (const name of await entryNames()) {
    const code = await bundle(app, `import * as all from '${name}'; void all;`, 'node');
    if (code.trim() !== '') throw new Error(`Of ${name}, unused, this remains:\n${code.slice(0, 500)}`);
  }
}

async function bundle(app: string, code: string, platform: 'browser' | 'node' = 'browser'): Promise<string> {
  const { outputFiles } = await build({
    stdin: { contents: code, resolveDir: app, sourcefile: path.join(app, 'bundled.js') },
    bundle: true,
    write: false,
    format: 'esm',
    platform,
    treeShaking: true,
    external: ['react', 'react/*', 'next', 'next/*', ...(platform === 'node' ? ['pg', 'graphile-worker'] : [])],
    logLevel: 'silent',
  });
  return outputFiles[0]?.text ?? '';
}

async function entryNames(): Promise<string[]> {
  const { exports } = await ownPackage();
  const entries = Object.keys(exports).filter((entry) => entry !== './package.json');
  return entries.map((entry) => entry.replace('.', 'oncekit'));
}
