import { randomBytes } from 'node:crypto';
import { chmod, mkdir, readFile, realpath, rename, rm, rmdir, stat, writeFile } from 'node:fs/promises';
import path from 'node:path';
import { CliError } from '../command.ts';
import type { FileWrite, Removal } from './plan.ts';

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
  for (let at = folder; at !== '.'; at = path.dirname(at)) {
    try {
      await rmdir(path.resolve(root, at));
    } catch {
      return;
    }
  }
}

/** Windows knows no such modes, and shows all files as open. */
async function openToOthers(written: readonly (FileWrite & { at: string })[]): Promise<string[]> {
  if (process.platform === 'win32') return [];
  const secret = written.filter(({ shown }) => shown);
  const modes = await Promise.all(secret.map(async ({ at }) => (await stat(at)).mode));
  return secret.flatMap(({ file }, n) => ((modes[n] ?? 0) & 0o077 ? file : []));
}
