/** A Dockerfile, done line by line where there is no Docker: each stage is a folder, which stands for its image's root. */
import { cp, link, lstat, mkdir, readdir, readlink, symlink } from 'node:fs/promises';
import path from 'node:path';
import { command } from './commands.ts';

/** A stage that is made: where its files are, and how it is started. */
export interface Stage {
  /** The folder that WORKDIR names. */
  folder: string;
  env: Record<string, string>;
  /** CMD. */
  start: string[];
}

interface Built extends Stage {
  root: string;
}

interface BuildOptions {
  /** The folder that COPY takes files from. */
  context: string;
  /** Names that .dockerignore has. */
  ignored: string[];
  /** The stages are made here. */
  into: string;
  /** Files that every base image has besides, at its root. */
  base?: string[];
  /** Variables that RUN needs where nothing but npm's registry can be reached. */
  offline: Record<string, string>;
  signal: AbortSignal;
}

/** Makes every stage of the text. Knows FROM, WORKDIR, COPY, RUN, ENV, USER and CMD, and refuses what it does not know. */
export async function buildStages(dockerfile: string, options: BuildOptions): Promise<Map<string, Stage>> {
  const stages = new Map<string, Built>();
  let stage: Built | undefined;
  for (const line of dockerfile.split('\n').map((each) => each.trim())) {
    if (line === '' || line.startsWith('#')) continue;
    const [, instruction = '', rest = ''] = /^([A-Z]+) (.+)$/.exec(line) ?? [];
    if (instruction === 'FROM') {
      stage = await begin(rest, stages, options);
    } else if (stage) {
      await follow(stage, { instruction, rest, line }, stages, options);
    } else throw new Error(`Before the first FROM: ${line}`);
  }
  return stages;
}

async function begin(rest: string, stages: Map<string, Built>, { into, base = [] }: BuildOptions): Promise<Built> {
  const [, name] = /^node:\S+ AS (\w+)$/.exec(rest) ?? [];
  if (!name) throw new Error(`FROM ${rest}: a stage begins with an image of Node's, and has a name.`);
  const root = path.join(into, name);
  await mkdir(root, { recursive: true });
  for (const file of base) await cp(file, path.join(root, path.basename(file)));
  const stage = { root, folder: root, env: {}, start: [] };
  stages.set(name, stage);
  return stage;
}

interface Line {
  instruction: string;
  rest: string;
  line: string;
}

async function follow(
  stage: Built,
  { instruction, rest, line }: Line,
  stages: Map<string, Built>,
  { context, ignored, offline, signal }: BuildOptions,
): Promise<void> {
  switch (instruction) {
    case 'WORKDIR':
      stage.folder = path.join(stage.root, rest);
      await mkdir(stage.folder, { recursive: true });
      return;
    case 'ENV':
      for (const [, name = '', value = ''] of rest.matchAll(/(\w+)=(\S+)/g)) stage.env[name] = value;
      return;
    case 'RUN':
      await command(['sh', '-c', rest], { cwd: stage.folder, env: { ...offline, ...stage.env }, signal });
      return;
    case 'CMD':
      stage.start = JSON.parse(rest);
      return;
    case 'USER':
      return;
    case 'COPY': {
      const [, from, files = ''] = /^(?:--from=(\w+) )?(.+)$/.exec(rest) ?? [];
      const source = from ? stages.get(from)?.root : context;
      if (!source) throw new Error(`${line}: there is no such stage.`);
      const names = files.split(' ');
      const target = path.join(stage.folder, names.pop() as string);
      for (const name of names) await copy(path.join(source, name), target, from ? [] : ignored);
      return;
    }
    default:
      throw new Error(`The test does not know what this does: ${line}`);
  }
}

/** A file into a folder, or what is in a folder. */
async function copy(source: string, target: string, ignored: string[]): Promise<void> {
  const entries = await readdir(source, { withFileTypes: true }).catch(() => undefined);
  await mkdir(target, { recursive: true });
  if (!entries) return await cp(source, path.join(target, path.basename(source)));
  const isIgnored = (name: string) =>
    ignored.some((each) => name === each || (each.endsWith('*') && name.startsWith(each.slice(0, -1))));
  for (const { name } of entries.filter((entry) => !isIgnored(entry.name))) {
    await linkAll(path.join(source, name), path.join(target, name));
  }
}

/** As `cp -a`, by hard links: nothing in an image is written to. */
async function linkAll(source: string, target: string): Promise<void> {
  const status = await lstat(source);
  if (status.isSymbolicLink()) return await symlink(await readlink(source), target);
  if (!status.isDirectory()) return await link(source, target).catch(() => cp(source, target, { force: true }));
  await mkdir(target, { recursive: true });
  for (const name of await readdir(source)) await linkAll(path.join(source, name), path.join(target, name));
}
