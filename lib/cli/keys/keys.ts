import {
  type Admin,
  type AdminOptions,
  createAdmin,
  type KeyDetail,
  type KeyPage,
  type KeySummary,
} from '../../admin/admin.ts';
import { jsonText } from '../../core/data.ts';
import { parseKey } from '../../core/key.ts';
import { KEY_STATES } from '../../core/key-state.ts';
import type { Duration } from '../../core/options.ts';
import { printable } from '../../core/printable.ts';
import type { KeyId } from '../../core/scope.ts';
import type { ActResult } from '../../store/oversight.ts';
import { loadEnv } from '../app/env.ts';
import { folderTree } from '../app/file-tree.ts';
import { fileOf } from '../app/next-app.ts';
import {
  CliError,
  type Command,
  flag,
  readActor,
  readArgs,
  readLimit,
  readName,
  readSubcommand,
  text,
  UsageError,
} from '../command.ts';
import { readWindow } from '../doctor/window.ts';
import { type CommandResult, done, notDone, runOnDatabase } from '../raw-client.ts';
import { table, when } from '../table.ts';

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

/** What a subcommand does, once its arguments are read. Of payloads, arguments and results it shows but their shape. */
interface Act {
  run(admin: Admin): Promise<CommandResult>;
  json: boolean | undefined;
  /** What it must know of the app besides. */
  settings?(root: string): FenceSettings;
}

type FenceSettings = Pick<AdminOptions, 'secret' | 'window' | 'retention'>;

const COMMON = { json: flag, actor: text, operation: text } as const;
const OF_LIST = { ...COMMON, state: text, search: text, limit: text, stuck: flag } as const;
const OF_KEY = { ...COMMON, tenant: text, principal: text } as const;
const OF_FENCE = { ...OF_KEY, window: text } as const;

/** The subcommands by their names. Each reads its arguments, and throws a UsageError that says what does not exist. */
const KEY_ACTS = {
  list(args: string[]): Act {
    const { state: wanted, json, actor: _, limit, ...rest } = readArgs(args, OF_LIST).values;
    const state = KEY_STATES.find((one) => one === wanted);
    if (wanted !== undefined && !state) {
      throw new UsageError(`There is no state "${wanted}".`, `There is: ${KEY_STATES.join(', ')}.`);
    }
    const filter = { ...rest, state, limit: readLimit(limit), offset: 0 };
    return { json, run: async (admin) => listed(await admin.listKeys(filter)) };
  },

  show: (args: string[]) =>
    onOneKey(args, async (admin, row) => {
      const detail = (await admin.findKey(row)) as KeyDetail;
      return { isDone: true, words: detailWords(detail), data: detail };
    }),

  release: (args: string[]) =>
    onOneKey(args, async (admin, row, actor) =>
      told(await admin.release(row, actor), {
        recorded: `Released, by ${actor}: ${row.key}. A worker or the client's retry goes on.`,
        changed: `${row.key} is no longer as it was: it is ${row.state}`,
        refused:
          'its executor may be alive, or a foreign call has begun whose provider may not know it again by its key',
      }),
    ),

  acknowledge: (args: string[]) =>
    onOneKey(args, async (admin, row, actor) =>
      told(await admin.acknowledge(row, actor), {
        recorded: `Seen to, by ${actor}: ${row.key}. It is deleted once it has expired.`,
        changed: 'nobody is asked to look at it',
        refused: `it is ${row.state}, and has to be finished first`,
      }),
    ),

  fence(args: string[]): Act {
    const { json, actor, key, operation, tenant, principal, window } = readKeyArgs(args, OF_FENCE);
    if (operation === undefined || tenant === undefined || principal === undefined) {
      throw new UsageError(
        'A key that was never used says nothing of whose it is.',
        'Name --operation, --tenant and --principal.',
      );
    }
    const run = async (admin: Admin) => {
      const id = { operation, tenant, principal, key };
      const operated = await admin.fence(id, actor);
      const found = operated === 'refused' ? await admin.findKey(id) : null;
      return told(operated, {
        recorded: `Given up, by ${actor}: ${key}. It never executes from now on.`,
        changed: 'it was given up before',
        refused: found
          ? `there is such a key, and it is ${found.state}`
          : 'it is no key of theirs, or runs at this moment, or is older than the window, so that it may have run',
      });
    };
    return { json, run, settings: (root) => fenceSettings(root, key, window) };
  },
};

/** Reads the arguments of `oncekit keys`. @throws UsageError that says what does not exist */
export function readKeyAct([name, ...args]: string[]): Act {
  const act = readSubcommand<(args: string[]) => Act>('keys', name, KEY_ACTS)(args);
  if (!act.json) return act;
  const inJson = ({ isDone, data }: CommandResult) => ({ isDone, words: jsonText(data, 2) ?? '' });
  return { ...act, run: async (admin) => inJson(await act.run(admin)) };
}

type ActOnKey = (admin: Admin, row: KeySummary, actor: string) => Promise<CommandResult>;

function onOneKey(args: string[], run: ActOnKey): Act {
  const { json, actor, key, ...whose } = readKeyArgs(args, OF_KEY);
  return { json, run: async (admin) => run(admin, await findOne(admin, key, whose), actor) };
}

function readKeyArgs(args: string[], options: typeof OF_KEY | typeof OF_FENCE) {
  const { values, positionals } = readArgs(args, options as typeof OF_FENCE, 1);
  const key = readName('A key', positionals[0] ?? '');
  return { ...values, key, actor: readActor(values.actor) };
}

/** The result of what a person did to a key, in the words for it: what was done, or why nothing was. */
function told(operated: ActResult, says: Record<ActResult, string>): CommandResult {
  const words = says[operated];
  return operated === 'recorded' ? done(words, { operated }) : notDone(words, { operated, why: words });
}

/** @throws CliError where there is none of that name, or more than one */
async function findOne(admin: Admin, key: string, whose: Partial<KeyId>): Promise<KeySummary> {
  const { operation, tenant, principal } = whose;
  const { rows: found } = await admin.listKeys({ key, operation, tenant, principal, limit: 50, offset: 0 });
  if (found.length === 1) return found[0] as KeySummary;
  if (found.length === 0) {
    throw new CliError(
      `There is no key ${printable(key)}.`,
      'It was never used, or its row was deleted. See: npx oncekit keys list',
    );
  }
  const owners = table(found.map(({ operation, tenant, principal }) => ['', operation, tenant, principal]));
  throw new CliError(
    `There are ${found.length} keys of that name:\n${owners}`,
    'Name one with --operation, --tenant and --principal.',
  );
}

function listed({ rows, hasMore }: KeyPage): CommandResult {
  const head = ['STATE', 'OPERATION', 'KEY', 'TENANT', 'PRINCIPAL', 'ATTEMPTS', 'CLAIMED', 'NEXT'];
  const more = hasMore ? '\nThere are more: see --limit and the filters.' : '';
  const words = rows.length === 0 ? 'No keys.' : table([head, ...rows.map(cellsOf)]) + more;
  return { isDone: true, words, data: { rows, hasMore } };
}

function cellsOf(row: KeySummary): string[] {
  const { state, operation, key, tenant, principal, attempts, claimedAt } = row;
  return [state, operation, key, tenant, principal, String(attempts), when(claimedAt), nextOf(row)];
}

function nextOf({ needsAttention, nextAttemptAt, leaseUntil }: Omit<KeySummary, 'reference'>): string {
  const flag = needsAttention ? 'needs attention, ' : '';
  if (needsAttention && !nextAttemptAt) return 'needs a person';
  if (leaseUntil && leaseUntil.getTime() > Date.now()) return `${flag}lease ends ${when(leaseUntil)}`;
  return nextAttemptAt ? `${flag}due ${when(nextAttemptAt)}` : '';
}

function detailWords(key: KeyDetail): string {
  const facts: [string, string | null | undefined][] = [
    ['Key', key.key],
    ['Operation', key.operation],
    ['Tenant', key.tenant],
    ['Principal', key.principal],
    ['State', key.state],
    ['Next', nextOf(key)],
    ['Recovery point', key.recoveryPoint],
    ['Attempts', String(key.attempts)],
    ['Claimed', at(key.claimedAt)],
    ['Settled', at(key.settledAt)],
    ['Kept until', at(key.expiresAt)],
    ['Fingerprint', key.fingerprintPrefix],
    ['Trace', key.traceId],
    ['Answer', key.answer && shapeOf(key.answer)],
  ];
  const known = facts.flatMap(([name, value]) => (value ? [[name, value]] : []));
  const events = key.events.map(({ type, actor, at: time, detail }) => {
    const said = Object.entries(detail ?? {}).map(([name, value]) => `${name} ${value}`);
    return ['', at(time) ?? '', type, actor, said.join(', ')];
  });
  const part = (title: string, rows: string[][]) => (rows.length > 0 ? `\n${title}\n${table(rows)}` : '');
  return `${table(known)}${part('Steps', key.phases.map(stepCells))}${part('Events', events)}`;
}

function stepCells(step: KeyDetail['phases'][number]) {
  const { name, kind, state, sends, notExecuted, finishedAt, verdict, derivedKey } = step;
  const unexecuted = notExecuted > 0 ? `, ${notExecuted} not executed` : '';
  const sent = sends > 0 ? `sent ${sends}×${unexecuted}` : '';
  const receipt = [step.reference, step.amount, step.knownBy && `by ${step.knownBy}`].filter(Boolean).join(', ');
  return ['', name, kind, state, sent, at(finishedAt) ?? '', verdict ?? '', receipt, derivedKey ?? ''];
}

const at = (time: Date | null) => time && `${time.toISOString()} (${when(time)})`;

const shapeOf = ({ kind, ...rest }: NonNullable<KeyDetail['answer']>) =>
  Object.keys(rest).length > 0 ? `${kind} ${JSON.stringify(rest)}` : kind;

/**
 * A key that was signed for somebody else must not be fenced for the one who is named, and one that is older than the
 * window may have run: so a fence must know what the app knows.
 */
function fenceSettings(root: string, key: string, window: string | undefined): FenceSettings {
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

async function run(args: string[]): Promise<number> {
  const act = readKeyAct(args);
  const root = process.cwd();
  loadEnv(root);
  const settings = act.settings?.(root);
  return await runOnDatabase((database) => act.run(createAdmin({ ...database, ...settings })));
}

export const keys: Command = { help, run };
