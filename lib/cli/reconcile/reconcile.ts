import { readFileSync } from 'node:fs';
import { userInfo } from 'node:os';
import path from 'node:path';
import { tryOr } from '../../core/errors.ts';
import { type Duration, toMs } from '../../core/options.ts';
import { printable } from '../../core/printable.ts';
import { loadEnv } from '../app/env.ts';
import { folderTree } from '../app/file-tree.ts';
import { APP_HELP, APP_OPTIONS, loadApp } from '../app/loader.ts';
import { CliError, type Command, confirm, flag, readArgs, readName, text, UsageError } from '../command.ts';
import { explainFault } from '../database.ts';
import { counted } from '../table.ts';
import { type ConsumerEvent, findOrphans, inboxAddress } from './inbox.ts';
import { readNamedKeys } from './key-file.ts';
import { enterAll, figures, leftOf, listing, lookUpAll } from './lost-keys.ts';

const help = `oncekit reconcile --keys <file> [--inbox <variable> …]

After a restore, or a failover that lost rows: lists what providers and consumers know of keys that the database has lost,
and enters it when it is told to, so that late retries are answered.

  --keys <file>        one JSON object a line: operation, tenant, principal, key, and the payload (of a form: "form") as
                       the client sent it; of a route "context": ["/its/path"]. Where nobody can be asked: "result"
  --inbox <variable>   the name of the variable with a consumer's address, or an address that has no password. Read only:
                       events that were received, and that this app's outbox does not know. More than once for several
  --source <name>      of those inboxes, the events of this source
  --since <time>       and received since then: 2026-11-23T10:00Z, or 6h ago. Left out: 72h
  --tenant <name>      of lines that name none
  --yes                enters what the outside knows, without being asked
  --actor <name>       who does it, for the record. Left out: the user of this machine
  --json               for a script
${APP_HELP}

Each key's operation is tried in one transaction that is rolled back, for at most 30 s, and foreign calls are looked up,
never sent. Payloads and results are not shown. Ends with 0 when nothing is left to do, with 1 when something is, and with 2
when it was asked for something that does not exist.`;

const OPTIONS = {
  keys: text,
  inbox: { ...text, multiple: true },
  source: text,
  since: text,
  tenant: text,
  actor: text,
  yes: { ...flag, short: 'y' },
  json: flag,
  ...APP_OPTIONS,
} as const;

async function run(args: string[]): Promise<number> {
  const { values } = readArgs(args, OPTIONS);
  const { keys: file, inbox = [], source, yes = false, json = false } = values;
  if (file === undefined && inbox.length === 0) {
    throw new UsageError(
      'A lost key is in no table: somebody must name it.',
      'Say --keys <file>, or --inbox <variable>.',
    );
  }
  const since = sinceOf(values.since ?? '72h');
  const actor = readName('An --actor', values.actor ?? userInfo().username);
  const named = file === undefined ? [] : readNamedKeys(file, readBytes(file), values.tenant);
  const root = process.cwd();
  loadEnv(root);
  const addresses = inbox.map((said) => inboxAddress(said));
  const { lookUpLost, knownEvents } = (await loadApp(root, folderTree(root), values)).idempotency;
  if (!lookUpLost || !knownEvents) throw new CliError('The app has an older oncekit.', 'npm install oncekit@latest');
  try {
    const orphans = await findOrphans(addresses, { source, since }, knownEvents);
    const ids = new Set(orphans.map(({ id }) => id));
    const keys = await lookUpAll(
      named,
      (each) => lookUpLost(each, (id) => ids.has(id)),
      (line) => console.error(line),
    );
    const explained = new Set(keys.flatMap(({ state }) => (state.kind === 'lost' ? state.receivedEvents : [])));
    const rest = orphans.filter(({ id }) => !explained.has(id));
    if (!json) console.log(listing(keys, rest) || 'Nothing is missing.');
    await enterAll(keys, actor, { ask: askerOf({ yes, json }), tell: json ? () => {} : (line) => console.log(line) });
    if (json) console.log(JSON.stringify(figures(keys, rest), null, 2));
    return conclude(keys, rest, json);
  } catch (error) {
    const fix = 'Look at it (npx oncekit doctor), then run this again: what was entered stays, and is then known.';
    throw explainFault(error, fix);
  }
}

/** A script that nobody answers for has not agreed. */
function askerOf({ yes, json }: { yes: boolean; json: boolean }): (question: string) => Promise<boolean> {
  if (yes) return async () => true;
  return process.stdin.isTTY && process.stdout.isTTY && !json ? confirm : async () => false;
}

function conclude(
  keys: Awaited<ReturnType<typeof lookUpAll>>,
  orphans: readonly ConsumerEvent[],
  json: boolean,
): number {
  const left = keys.flatMap((each) => {
    const why = leftOf(each);
    return why === undefined ? [] : `${each.named.key}: ${why}`;
  });
  if (orphans.length > 0)
    left.push(`${counted(orphans.length, 'event')}: name the keys they come from, with their payloads`);
  if (!json && left.length > 0) {
    console.error(['Left to do:', ...left.map(printable)].join('\n  '));
    if (keys.some(({ state, entered }) => state.kind === 'lost' && state.enter && !entered)) {
      console.error('To enter what the outside knows without being asked: --yes.');
    }
  }
  return left.length > 0 ? 1 : 0;
}

function sinceOf(said: string): Date {
  const isTime = /^\d{4}-\d\d-\d\d/.test(said) && !Number.isNaN(Date.parse(said));
  if (isTime) return new Date(said);
  const ms = tryOr(() => toMs(said as Duration, '--since'));
  if (ms !== undefined) return new Date(Date.now() - ms);
  throw new UsageError(`--since takes a time, not "${said}".`, 'Write 2026-11-23T10:00Z, or 6h for six hours ago.');
}

function readBytes(file: string): Uint8Array {
  try {
    return readFileSync(path.resolve(file));
  } catch (error) {
    throw new CliError(`${file} cannot be read: ${(error as NodeJS.ErrnoException).code}.`, 'Mend --keys.');
  }
}

export const reconcile: Command = { help, run };
