import { randomBytes } from 'node:crypto';
import { chmod, mkdir, readFile, realpath, rename, rm, rmdir, stat, writeFile } from 'node:fs/promises';
import path from 'node:path';
import { createTwoFilesPatch } from 'diff';
import { CliError, confirm, flag } from '../command.ts';
import { counted } from '../table.ts';

/** A file that `init` would write. */
interface FileWrite {
  file: string;
  content: string;
  /** The present content; undefined: there is no such file. */
  before: string | undefined;
  /** The file of the package that it is a plain copy of. */
  copyOf?: string;
  /** Holds secrets, its old content too: only this is shown of it. */
  shown?: readonly string[];
}

/** A file that `remove` would delete. */
interface Removal {
  file: string;
  before: string;
}

/** The changes that `init` would make, and those that it would leave to a person. Nothing has been written. */
export interface Plan {
  writes: FileWrite[];
  removals: Removal[];
  /** Files that differ and stay as they are; each says what to look at. */
  kept: string[];
  /** Notes for a person. */
  notes: string[];
  /** What a person does once it is carried out. */
  next: string[];
}

/** One plan of several, each of which has what it has to say; of none, an empty one. */
export function planOf(parts: readonly Partial<Plan>[]): Plan {
  return {
    writes: parts.flatMap(({ writes = [] }) => writes),
    removals: parts.flatMap(({ removals = [] }) => removals),
    kept: parts.flatMap(({ kept = [] }) => kept),
    notes: parts.flatMap(({ notes = [] }) => notes),
    next: parts.flatMap(({ next = [] }) => next),
  };
}

/**
 * A plan as a person reads it before anything is written. Secrets are not shown, nor what stands beside them; a plain copy
 * of one of the package's files is named instead of printed.
 *
 * @param full prints those copies as well
 */
export function showPlan({ writes, kept, notes }: Plan, { full = false } = {}): string {
  const parts = writes.map((write) => (write.copyOf && !full ? named(write) : diffOf(write)));
  const remarks = [...kept.map((each) => `Kept: ${each}`), ...notes.map((each) => `Note: ${each}`)];
  return [...parts, ...remarks].join('\n');
}

function named({ file, content, copyOf }: FileWrite): string {
  const lines = content.trimEnd().split('\n').length;
  return `+++ ${file}  (new, ${lines} lines: a copy of node_modules/oncekit/${copyOf})\n`;
}

function diffOf({ file, before, content, shown }: FileWrite): string {
  const is = before === undefined ? 'new' : 'changed';
  if (shown) return `+++ ${file}  (${is})\n${shown.join('\n')}\n`;
  const patch = createTwoFilesPatch(before === undefined ? '/dev/null' : file, file, before ?? '', content);
  return patch.slice(patch.indexOf('\n') + 1);
}

/** The options of every command that writes files. */
export const WRITE_OPTIONS = { yes: { ...flag, short: 'y' }, 'dry-run': flag } as const;

/**
 * Shows a plan, asks, and carries it out.
 *
 * @param nothing says that there is nothing to do, of a plan that may be empty
 * @param full shows files in full
 * @param last what is to be done behind the plan's own next steps
 * @returns the exit code: 1 where something was to be done, and was not
 */
export async function carryOut(
  root: string,
  plan: Plan,
  { yes = false, 'dry-run': isDry = false },
  { nothing = '', full = false, last = [] as string[] } = {},
): Promise<number> {
  const { writes, removals, next } = plan;
  const shown = showPlan(plan, { full });
  if (writes.length + removals.length === 0) {
    console.log(shown ? `${shown}\n${nothing}` : nothing);
    return 0;
  }
  for (const { file } of removals) console.log(`--- ${file}  (deleted: it is as init has written it)`);
  console.log(shown);
  const count = `${counted(writes.length, 'file')} written${removals.length > 0 ? `, ${removals.length} deleted` : ''}`;
  if (isDry) {
    console.log(`A dry run. It would be: ${count}.`);
    return 0;
  }
  if (!yes && !(await confirm(`${count}. Go on? [y/N] `))) {
    console.error('Nothing was changed. To go on without being asked: --yes.');
    return 1;
  }
  const open = await writeFiles(root, writes, removals);
  const close = open.map((file) => `Close ${file} to others on this machine, for it holds secrets: chmod 600 ${file}`);
  const steps = [...next, ...close, ...last].map((step, n) => `\n  ${n + 1}. ${step}`).join('');
  console.log(`Done: ${count}.${steps && ` Next:${steps}`}`);
  return 0;
}

/** For its owner alone. */
const PRIVATE = 0o600;

/**
 * All of them, or none: each is written beside its place first and then moved there. What was changed since the plan was
 * made is not overwritten, and not deleted. When one cannot be moved, those before it are put back. A file keeps its
 * permissions, and a link to it stays one. A new file that holds secrets is its owner's alone. Folders that are empty without
 * the deleted files go as well.
 *
 * @returns those with secrets that others on this machine may read, because they could before
 * @throws CliError with the file that could not be written
 */
export async function writeFiles(
  root: string,
  writes: readonly FileWrite[],
  removals: readonly Removal[] = [],
): Promise<string[]> {
  const mark = `.oncekit-${randomBytes(4).toString('hex')}`;
  const steps = await Promise.all(
    writes.map(async (write) => {
      const file = path.resolve(root, write.file);
      const at = await realpath(file).catch(() => file);
      return { ...write, at, fresh: `${at}${mark}` };
    }),
  );
  const goners = removals.map(({ file, before }) => ({ file, before, at: path.resolve(root, file) }));
  const moved: typeof steps = [];
  const gone: typeof goners = [];
  const folders: string[] = [];
  try {
    for (const { file, at, fresh, before, content, shown } of steps) {
      await assertUnchanged(file, at, before);
      const made = await mkdir(path.dirname(at), { recursive: true });
      if (made) folders.push(made);
      // From the first byte, and not set behind it: between the two, anybody could open it and read on.
      await writeFile(fresh, content, { flag: 'wx', mode: shown || before !== undefined ? PRIVATE : 0o666 });
      if (before !== undefined) await chmod(fresh, (await stat(at)).mode);
    }
    for (const { file, at, before } of goners) await assertUnchanged(file, at, before);
    for (const step of steps) {
      await rename(step.fresh, step.at);
      moved.push(step);
    }
    for (const each of goners) {
      await rename(each.at, `${each.at}${mark}`);
      gone.push(each);
    }
    for (const { at } of gone) await rm(`${at}${mark}`, { force: true });
    for (const { file } of gone) await removeEmptyFolders(root, path.dirname(file));
    return await openToOthers(steps);
  } catch (error) {
    for (const { at } of gone) await rename(`${at}${mark}`, at).catch(() => {});
    for (const { at, before } of moved) await (before === undefined ? rm(at, { force: true }) : writeFile(at, before));
    for (const { fresh } of steps) await rm(fresh, { force: true }).catch(() => {});
    for (const folder of folders.reverse()) await rm(folder, { recursive: true, force: true });
    if (error instanceof CliError) throw error;
    const { message } = error as Error;
    throw new CliError(`Nothing was written: ${message}.`, 'Make the folder writable, then run it again.');
  }
}

async function assertUnchanged(file: string, at: string, before: string | undefined): Promise<void> {
  const now = await readFile(at, 'utf8').catch(() => undefined);
  if (now !== before) throw new CliError(`${file} has just been changed.`, 'Run it again.');
}

/** The folder and those above it, as long as they hold nothing. */
async function removeEmptyFolders(root: string, folder: string): Promise<void> {
  if (folder === '.') return;
  const above = () => removeEmptyFolders(root, path.dirname(folder));
  await rmdir(path.resolve(root, folder))
    .then(above)
    .catch(() => {});
}

/** Windows knows no such modes, and shows all files as open. */
async function openToOthers(written: readonly (FileWrite & { at: string })[]): Promise<string[]> {
  if (process.platform === 'win32') return [];
  const secret = written.filter(({ shown }) => shown);
  const modes = await Promise.all(secret.map(async ({ at }) => (await stat(at)).mode));
  return secret.flatMap(({ file }, n) => ((modes[n] ?? 0) & 0o077 ? file : []));
}
