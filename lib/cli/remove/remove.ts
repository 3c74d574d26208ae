import { folderTree } from '../app/file-tree.ts';
import { readArgs } from '../arguments.ts';
import type { Command } from '../command.ts';
import { confirm } from '../confirmation.ts';
import { counted } from '../doctor/finding.ts';
import { writeFiles } from '../init/file-writer.ts';
import { readKitFiles } from '../init/kit-files.ts';
import { remarks, showPlan } from '../init/plan-diff.ts';
import { planRemove } from './plan-remove.ts';

const help = `oncekit remove [--yes] [--dry-run] [--schema <path>]

Takes the kit out of the app in this folder: the files that init has written and nobody has changed, its models, its two
secrets in .env, and its adapter (PrismaPg is Prisma's again). Writes a migration that drops the kit's tables, functions and
triggers; it never runs it. Shows all of it and asks first. Files of yours that use the kit stay, and are named.

  --yes            does not ask
  --dry-run        shows everything and changes nothing
  --schema <path>  where the Prisma schema is, a file or a folder, if it is not found

Ends with 0 when it is done, and with 1 when nothing was changed.`;

const options = {
  yes: { type: 'boolean', short: 'y' },
  'dry-run': { type: 'boolean' },
  schema: { type: 'string' },
} as const;

async function run(args: string[]): Promise<number> {
  const { values } = readArgs(args, options);
  const root = process.cwd();
  const plan = planRemove(folderTree(root), readKitFiles(), { now: new Date(), schema: values.schema });
  const { writes, removals, next } = plan;
  if (writes.length + removals.length === 0) {
    for (const line of remarks(plan)) console.log(line);
    console.log('Nothing to do: nothing is left here that init has written.');
    return 0;
  }
  for (const { file } of removals) console.log(`--- ${file}  (deleted: it is as init has written it)`);
  console.log(showPlan(plan));
  const count = `${counted(writes.length, 'file')} written, ${removals.length} deleted`;
  if (values['dry-run']) {
    console.log(`A dry run: ${count} it would be.`);
    return 0;
  }
  if (!values.yes && !(await confirm(`${count}. Go on? [y/N] `))) {
    console.error('Nothing was changed. To go on without being asked: --yes.');
    return 1;
  }
  await writeFiles(root, writes, removals);
  console.log(`Done: ${count}. Next:${next.map((step, n) => `\n  ${n + 1}. ${step}`).join('')}`);
  return 0;
}

export const remove: Command = { help, run };
