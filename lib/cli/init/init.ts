import { randomBytes } from 'node:crypto';
import { folderTree } from '../app/file-tree.ts';
import { flag, readArgs, text } from '../arguments.ts';
import type { Command } from '../command.ts';
import { carryOut, WRITE_OPTIONS } from './carry-out.ts';
import { readKitFiles } from './kit-files.ts';
import { planInit } from './plan-init.ts';

const help = `oncekit init [--yes] [--dry-run] [--messaging] [--schema <path>]

Adds the kit to the Next.js app in this folder: the Prisma models and their migration, lib/idempotency.ts,
lib/operations.ts, the status route, the cron route, and two secrets in .env; and lets your client import PrismaPg from
oncekit/adapter-pg. Shows what it would write and asks first. No other file that is there is changed, and a second run
finds nothing to do. After an upgrade of the kit it adds what the new version needs.

  --yes            does not ask
  --dry-run        shows everything in full and writes nothing
  --messaging      adds the tables of the outbox and the inbox, too
  --schema <path>  where the Prisma schema is, a file or a folder, if it is not found

Ends with 0 when the app has what it needs, and with 1 when nothing was written.`;

async function run(args: string[]): Promise<number> {
  const { values } = readArgs(args, { ...WRITE_OPTIONS, messaging: flag, schema: text });
  const root = process.cwd();
  const plan = planInit(folderTree(root), readKitFiles(), {
    messaging: values.messaging,
    schema: values.schema,
    now: new Date(),
    secret: () => randomBytes(32).toString('base64url'),
  });
  return await carryOut(root, plan, values, {
    nothing: 'Nothing to do: the app has what it needs.',
    full: values['dry-run'] ?? false,
    last: ['Look whether all of it works together: npx oncekit doctor'],
  });
}

export const init: Command = { help, run };
