import { folderTree } from '../app/file-tree.ts';
import { readArgs, text } from '../arguments.ts';
import type { Command } from '../command.ts';
import { carryOut, WRITE_OPTIONS } from '../init/carry-out.ts';
import { readKitFiles } from '../init/kit-files.ts';
import { planRemove } from './plan-remove.ts';

const help = `oncekit remove [--yes] [--dry-run] [--schema <path>]

Takes the kit out of the app in this folder: the files that init has written and nobody has changed, its models, its two
secrets in .env, and its adapter (PrismaPg is Prisma's again). Writes a migration that drops the kit's tables, functions and
triggers; it never runs it. Shows all of it and asks first. Files of yours that use the kit stay, and are named.

  --yes            does not ask
  --dry-run        shows everything and changes nothing
  --schema <path>  where the Prisma schema is, a file or a folder, if it is not found

Ends with 0 when it is done, and with 1 when nothing was changed.`;

async function run(args: string[]): Promise<number> {
  const { values } = readArgs(args, { ...WRITE_OPTIONS, schema: text });
  const root = process.cwd();
  const plan = planRemove(folderTree(root), readKitFiles(), { now: new Date(), schema: values.schema });
  return await carryOut(root, plan, values, { nothing: 'Nothing to do: nothing is left here that init has written.' });
}

export const remove: Command = { help, run };
