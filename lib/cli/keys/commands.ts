import type { Admin, KeyDetail, KeySummary } from '../../admin/admin.ts';
import { printable } from '../../core/printable.ts';
import { CliError } from '../command.ts';
import type { CommandResult } from '../raw-client.ts';
import { table, when } from '../table.ts';
import type { KeysRequest, Narrowing } from './arguments.ts';

/** Does what was asked for. Of payloads, arguments and results nothing is shown but their shape, as in the admin view. */
export async function runKeys(admin: Admin, request: KeysRequest): Promise<CommandResult> {
  const { isDone, words, data } = await COMMANDS[request.command](admin, request as never);
  return { isDone, words: request.json ? JSON.stringify(data, json, 2) : words };
}

interface KeysResult extends CommandResult {
  data: unknown;
}

type Does<Name extends KeysRequest['command']> = (
  admin: Admin,
  request: Extract<KeysRequest, { command: Name }>,
) => Promise<KeysResult>;

const COMMANDS: { [Name in KeysRequest['command']]: Does<Name> } = {
  list: async (admin, { filter }) => {
    const { rows, hasMore } = await admin.listKeys({ ...filter, offset: 0 });
    const head = ['STATE', 'OPERATION', 'KEY', 'TENANT', 'PRINCIPAL', 'ATTEMPTS', 'CLAIMED', 'NEXT'];
    const more = hasMore ? '\nThere are more: see --limit and the filters.' : '';
    const words = rows.length === 0 ? 'No keys.' : table([head, ...rows.map(cellsOf)]) + more;
    return { isDone: true, words, data: { rows, hasMore } };
  },

  show: async (admin, { key, of }) => {
    const detail = (await admin.findKey(await findOne(admin, key, of))) as KeyDetail;
    return { isDone: true, words: inWords(detail), data: detail };
  },

  release: async (admin, { key, of, actor }) => {
    const row = await findOne(admin, key, of);
    const operated = await admin.release(row, actor);
    if (operated === 'recorded')
      return done(`Released, by ${actor}: ${key}. A worker or the client's retry goes on.`, operated);
    if (operated === 'changed') return notDone(`${key} is no longer as it was: it is ${row.state}`, operated);
    return notDone(
      'its executor may be alive, or a foreign call has begun whose provider may not know it again by its key',
      operated,
    );
  },

  acknowledge: async (admin, { key, of, actor }) => {
    const row = await findOne(admin, key, of);
    const operated = await admin.acknowledge(row, actor);
    if (operated === 'recorded')
      return done(`Seen to, by ${actor}: ${key}. It is deleted once it has expired.`, operated);
    if (operated === 'changed') return notDone('nobody is asked to look at it', operated);
    return notDone(`it is ${row.state}, and has to be finished first`, operated);
  },

  fence: async (admin, { key, of, actor }) => {
    const id = { ...of, key };
    const operated = await admin.fence(id, actor);
    if (operated === 'recorded') return done(`Given up, by ${actor}: ${key}. It never executes from now on.`, operated);
    if (operated === 'changed') return notDone('it was given up before', operated);
    const found = await admin.findKey(id);
    if (found) return notDone(`there is such a key, and it is ${found.state}`, operated);
    return notDone(
      'it is no key of theirs, or runs at this moment, or is older than the window, so that it may have run',
      operated,
    );
  },
};

const done = (words: string, operated: string): KeysResult => ({
  isDone: true,
  words: printable(words),
  data: { operated },
});
const notDone = (why: string, operated: string): KeysResult => ({
  isDone: false,
  words: printable(`Nothing was done: ${why}.`),
  data: { operated, why },
});

/** @throws CliError where there is none of that name, or more than one */
async function findOne(admin: Admin, key: string, of: Narrowing): Promise<KeySummary> {
  const { rows } = await admin.listKeys({ search: key, operation: of.operation, limit: 50, offset: 0 });
  const fits = (row: KeySummary) =>
    row.key === key && (of.tenant ?? row.tenant) === row.tenant && (of.principal ?? row.principal) === row.principal;
  const found = rows.filter(fits);
  if (found.length === 1) return found[0] as KeySummary;
  if (found.length === 0) {
    throw new CliError(
      `There is no key ${printable(key)}.`,
      'It was never used, or its row was deleted. See: npx oncekit keys list',
    );
  }
  const whose = table(found.map(({ operation, tenant, principal }) => ['', operation, tenant, principal]));
  throw new CliError(
    `There are ${found.length} keys of that name:\n${whose}`,
    'Name one with --operation, --tenant and --principal.',
  );
}

function cellsOf(row: KeySummary): string[] {
  const { state, operation, key, tenant, principal, attempts, claimedAt } = row;
  return [state, operation, key, tenant, principal, String(attempts), when(claimedAt), nextOf(row)];
}

function nextOf({ needsAttention, nextAttemptAt, leaseUntil }: KeySummary): string {
  const flag = needsAttention ? 'needs attention, ' : '';
  if (needsAttention && !nextAttemptAt) return 'needs a person';
  if (leaseUntil && leaseUntil.getTime() > Date.now()) return `${flag}lease ends ${when(leaseUntil)}`;
  return nextAttemptAt ? `${flag}due ${when(nextAttemptAt)}` : '';
}

function inWords(key: KeyDetail): string {
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
  const told = facts.flatMap(([name, value]) => (value ? [[name, value]] : []));
  const steps = key.phases.map(({ name, kind, state, sends, notExecuted, finishedAt, verdict }) => [
    '',
    name,
    kind,
    state,
    sends > 0 ? `sent ${sends}×${notExecuted > 0 ? `, ${notExecuted} not executed` : ''}` : '',
    at(finishedAt) ?? '',
    verdict ?? '',
  ]);
  const events = key.events.map(({ type, actor, at: time }) => ['', at(time) ?? '', type, actor]);
  const part = (title: string, rows: string[][]) => (rows.length > 0 ? `\n${title}\n${table(rows)}` : '');
  return `${table(told)}${part('Steps', steps)}${part('Events', events)}`;
}

const at = (time: Date | null) => time && `${time.toISOString()} (${when(time)})`;

const shapeOf = ({ kind, ...rest }: NonNullable<KeyDetail['answer']>) =>
  Object.keys(rest).length > 0 ? `${kind} ${JSON.stringify(rest)}` : kind;

/** JSON knows no whole numbers of any size. */
const json = (_: string, value: unknown) => (typeof value === 'bigint' ? value.toString() : value);
