import { createAdmin } from '../../admin/admin.ts';
import type { Duration } from '../../core/duration.ts';
import { parseKey } from '../../core/key.ts';
import { loadEnv } from '../app/env.ts';
import { folderTree } from '../app/file-tree.ts';
import { fileOf } from '../app/loader.ts';
import { tablesOf } from '../app/next-app.ts';
import { CliError, type Command } from '../command.ts';
import { readWindow } from '../doctor/window.ts';
import { runOnDatabase } from '../raw-client.ts';
import { type KeysRequest, readKeysRequest } from './arguments.ts';
import { runKeys } from './commands.ts';

const help = `oncekit keys list                  keys, newest first
oncekit keys show <key>            one key: its state, steps and events
oncekit keys release <key>         takes it from an executor that no longer shows itself; refused while it may live
oncekit keys fence <key>           gives a key up that was never used: it never executes from then on

  --state <state>      for list: in_progress, succeeded, failed, unknown or abandoned
  --stuck              for list: those that do not go on by themselves
  --search <text>      for list: keys and principals that begin with it
  --limit <n>          for list: at most 1000. Left out: 50
  --operation <name>   of which operation
  --tenant <name>, --principal <name>
                       whose it is: where a key of that name is there more than once, and for fence
  --window <24h>       for fence: how long the app takes a key. Left out: what lib/idempotency.ts says
  --actor <name>       who does it, for the record. Left out: the user of this machine
  --json               for a script

DATABASE_URL says which database; the app is not loaded. fence needs the app's IDEMPOTENCY_SECRET as well. Payloads and
results are not shown. Ends with 0 when it is done, with 1 when nothing was done, and says why, and with 2 when it was
asked for something that does not exist.`;

async function run(args: string[]): Promise<number> {
  const request = readKeysRequest(args);
  const root = process.cwd();
  loadEnv(root);
  const settings = request.command === 'fence' ? fenceSettings(root, request) : {};
  const tables = tablesOf(folderTree(root));
  return await runOnDatabase((prisma) => runKeys(createAdmin({ prisma, tables, ...settings }), request));
}

/**
 * A key that was signed for somebody else must not be fenced for the one who is named, and one that is older than the
 * window may have run: so a fence must know what the app knows.
 */
function fenceSettings(root: string, { key, window }: Extract<KeysRequest, { command: 'fence' }>) {
  const secret = (process.env.IDEMPOTENCY_SECRET ?? '').split(',');
  if (parseKey(key).shape === 'signed' && !secret.some(Boolean)) {
    throw new CliError(
      'The key is signed, and IDEMPOTENCY_SECRET is not set, which tells for whom.',
      "Set it to the app's.",
    );
  }
  if (window !== undefined) return { secret, window: window as Duration };
  const tree = folderTree(root);
  const file = fileOf('idempotency', tree);
  const read = readWindow(tree.read(file) ?? '');
  if (!read) throw new CliError(`${file} does not say in plain words how long keys are taken.`, 'Say it: --window 24h');
  return { secret, window: read.windowMs, retention: read.retentionMs };
}

export const keys: Command = { help, run };
