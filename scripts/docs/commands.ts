import { existsSync, readdirSync, readFileSync } from 'node:fs';
import path from 'node:path';
import { type MarkdownPage, root } from './pages.ts';

/** A command of a page, as a shell would split it. */
export interface DocCommand {
  file: string;
  words: string[];
}

const { scripts, dependencies, devDependencies } = JSON.parse(readFileSync(path.join(root, 'package.json'), 'utf8'));

/** Packages that a page names and this repository does not have: ours, and what is made for one's own app. */
const ELSEWHERE = ['oncekit', 'dotenv', 'create-next-app'];
/** Of the shell, which need no check. */
const BUILT_IN = ['cd', 'mkdir'];
const PRISMA = ['migrate deploy', 'migrate dev', 'db execute', 'generate'];

/** The commands of all `sh` blocks, and those of which the text speaks: `npm run check`, `npx oncekit doctor`. */
export function commandsOf({ file, text, blocks }: MarkdownPage): DocCommand[] {
  const shell = blocks.filter(({ lang }) => /^(sh|bash|shell|console)$/.test(lang)).map((block) => block.text);
  const lines = shell.flatMap((block) => block.replaceAll('\\\n', ' ').split(/\n|&&/));
  const spoken = [...text.matchAll(/`((?:npm run|npm test|npx oncekit)\b[^`\n]*)`/g)].map(([, line]) => line ?? '');
  return [...lines, ...spoken]
    .map((line) => line.replace(/(^|\s)#.*$/, '').trim())
    .filter((line) => line !== '')
    .flatMap((line) => line.split(/&&|\s\|\s/))
    .map((line) => line.trim())
    .map((line) => ({ file, words: (line.match(/'[^']*'|"[^"]*"|[^\s'"]+/g) ?? []).map((word) => word) }));
}

/** Why the command cannot work, as far as that can be told without running it; undefined where it can. */
export function whyNot({ words }: DocCommand): string | undefined {
  const [program = '', ...args] = words.filter((word, at) => at > 0 || !/^[A-Z_]+=/.test(word));
  const names = args.filter((word) => !word.startsWith('-'));
  if (BUILT_IN.includes(program)) return undefined;
  if (program === 'npm') return npmFails(names);
  if (program === 'npx') return npxFails(names);
  if (program === 'curl') return curlFails(args.map((word) => word.replaceAll(/^['"]|['"]$/g, '')));
  if (program === 'node') {
    const script = names.find((name) => /\.[cm]?[jt]s$/.test(name));
    return script && existsSync(path.join(root, script)) ? undefined : `no such file: ${script}`;
  }
  return `nobody has said how to check "${program}"`;
}

/** The `oncekit` subcommand and the options that a page gives it. */
export function oncekitCall({ words }: DocCommand): { name: string; options: string[] } | undefined {
  const at = words.indexOf('oncekit');
  const name = words[at + 1];
  if (words[0] !== 'npx' || at !== 1 || name === undefined || /^[-<]/.test(name)) return undefined;
  return { name, options: words.filter((word) => word.startsWith('--')).map((word) => word.split('=')[0] ?? '') };
}

function npmFails([command, ...names]: string[]): string | undefined {
  if (command === 'ci' || command === 'pack') return undefined;
  if (command === 'install') return names.find((name) => !isPackage(name)) && `unknown package in: ${names.join(' ')}`;
  const script = command === 'run' ? names[0] : command;
  // A family of them: `npm run test:*` in the text.
  return script && Object.hasOwn(scripts, script) ? undefined : `no script ${script}`;
}

function npxFails([program = '', ...names]: string[]): string | undefined {
  const bare = program.replace(/@latest$/, '');
  if (bare === 'shadcn') return shadcnFails(names);
  if (!isPackage(program) && !existsSync(path.join(root, 'node_modules/.bin', bare))) return `no program ${program}`;
  if (bare !== 'prisma' || PRISMA.some((known) => names.join(' ').startsWith(known))) return undefined;
  return `no prisma ${names.join(' ')}`;
}

/** The item that it adds must be one of the demo's own registry. */
function shadcnFails([command, address = '']: string[]): string | undefined {
  const item = URL.canParse(address) ? path.join(root, 'public', new URL(address).pathname) : undefined;
  return command === 'add' && item && existsSync(item) ? undefined : `no item ${address}`;
}

function isPackage(given: string): boolean {
  const [, name = given, version = 'latest'] = /^(.+)@([\d.]+|latest)$/.exec(given) ?? [];
  const ours: string | undefined = dependencies[name] ?? devDependencies[name];
  if (version === 'latest') return ELSEWHERE.includes(name) || ours !== undefined;
  // A version that a page names is the one that is tried here.
  return ours?.replace(/^\^/, '').startsWith(`${version}.`) === true;
}

/** The address must be one that the demo's routes answer. */
function curlFails(args: string[]): string | undefined {
  const address = args.find((word) => /^https?:/.test(word));
  if (!address || !URL.canParse(address)) return 'no address';
  const parts = new URL(address).pathname.split('/').filter(Boolean);
  return hasRoute('app', parts) ? undefined : `no route ${address}`;
}

function hasRoute(folder: string, [part, ...rest]: string[]): boolean {
  const at = path.join(root, folder);
  if (part === undefined) return existsSync(path.join(at, 'route.ts'));
  const inside = readdirSync(at, { withFileTypes: true }).filter((entry) => entry.isDirectory());
  return inside
    .filter(({ name }) => name === part || /^\[\w/.test(name)) // not `[...path]`, which says that there is nothing
    .some(({ name }) => hasRoute(path.join(folder, name), rest));
}
