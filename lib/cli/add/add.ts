import { folderTree } from '../app/file-tree.ts';
import { readArgs, readSubcommand } from '../arguments.ts';
import type { Command } from '../command.ts';
import { carryOut, WRITE_OPTIONS } from '../init/carry-out.ts';
import { planForm, planOperation } from './plan-add.ts';

const help = `oncekit add operation <name> [--yes] [--dry-run]
oncekit add form <name> [--yes] [--dry-run]

Writes the smallest operation that works, or a page with a form for one, into the app in this folder: below src/ or not,
with its path alias. An operation is a file beside lib/idempotency.ts, listed in lib/operations.ts. A form is
app/<name>/page.tsx and its actions.ts; where the app has no operation of the name, it is written as well. Shows what it
would write and asks first. A file that is there is never changed, but for the list of operations.

  --yes      does not ask
  --dry-run  shows everything and writes nothing

Ends with 0 when it is written, and with 1 when nothing was.`;

const PLANS = { operation: planOperation, form: planForm };

async function run([kind = '', ...args]: string[]): Promise<number> {
  const plans = readSubcommand('add', kind, PLANS);
  const { values, positionals } = readArgs(args, WRITE_OPTIONS, 1);
  const root = process.cwd();
  const plan = plans(folderTree(root), positionals[0] ?? '');
  return await carryOut(root, plan, values);
}

export const add: Command = { help, run };
