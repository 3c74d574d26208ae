import type { Admin, KeyDetail, KeyFilter, KeySummary } from '../../admin/admin.ts';
import { printable } from '../../core/printable.ts';
import type { KeyId } from '../../core/scope.ts';
import type { ActResult } from '../../store/oversight.ts';
import { CliError } from '../command.ts';
import { type CommandResult, done, notDone } from '../raw-client.ts';
import { table, when } from '../table.ts';
import type { KeysRequest, Narrowing } from './arguments.ts';

/** Does what was asked for. Of payloads, arguments and results nothing is shown but their shape, as in the admin view. */
export async function runKeys(admin: Admin, request: KeysRequest): Promise<CommandResult> {
  const { isDone, words, data } = await resultOf(admin, request);
  return { isDone, words: request.json ? JSON.stringify(data, json, 2) : words };
}

async function resultOf(admin: Admin, request: KeysRequest): Promise<CommandResult> {
  if (request.command === 'list') return await list(admin, request.filter);
  const { key, actor } = request;
  if (request.command === 'fence') return await fence(admin, { ...request.of, key }, actor);
  const row = await findOne(admin, key, request.of);
  switch (request.command) {
    case 'show': {
      const detail = (await admin.findKey(row)) as KeyDetail;
      return { isDone: true, words: inWords(detail), data: detail };
    }
    case 'release':
      return told(await admin.release(row, actor), {
        recorded: `Released, by ${actor}: ${key}. A worker or the client's retry goes on.`,
        changed: `${key} is no longer as it was: it is ${row.state}`,
        refused:
          'its executor may be alive, or a foreign call has begun whose provider may not know it again by its key',
      });
    case 'acknowledge':
      return told(await admin.acknowledge(row, actor), {
        recorded: `Seen to, by ${actor}: ${key}. It is deleted once it has expired.`,
        changed: 'nobody is asked to look at it',
        refused: `it is ${row.state}, and has to be finished first`,
      });
  }
}

async function list(admin: Admin, filter: KeyFilter): Promise<CommandResult> {
  const { rows, hasMore } = await admin.listKeys(filter);
  const head = ['STATE', 'OPERATION', 'KEY', 'TENANT', 'PRINCIPAL', 'ATTEMPTS', 'CLAIMED', 'NEXT'];
  const more = hasMore ? '\nThere are more: see --limit and the filters.' : '';
  const words = rows.length === 0 ? 'No keys.' : table([head, ...rows.map(cellsOf)]) + more;
  return { isDone: true, words, data: { rows, hasMore } };
}

async function fence(admin: Admin, id: KeyId, actor: string): Promise<CommandResult> {
  const operated = await admin.fence(id, actor);
  const found = operated === 'refused' ? await admin.findKey(id) : null;
  return told(operated, {
    recorded: `Given up, by ${actor}: ${id.key}. It never executes from now on.`,
    changed: 'it was given up before',
    refused: found
      ? `there is such a key, and it is ${found.state}`
      : 'it is no key of theirs, or runs at this moment, or is older than the window, so that it may have run',
  });
}

/** The result of what a person did to a key, in the words for it: what was done, or why nothing was. */
function told(operated: ActResult, says: Record<ActResult, string>): CommandResult {
  const words = says[operated];
  return operated === 'recorded' ? done(words, { operated }) : notDone(words, { operated, why: words });
}

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
  const known = facts.flatMap(([name, value]) => (value ? [[name, value]] : []));
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
  return `${table(known)}${part('Steps', steps)}${part('Events', events)}`;
}

const at = (time: Date | null) => time && `${time.toISOString()} (${when(time)})`;

const shapeOf = ({ kind, ...rest }: NonNullable<KeyDetail['answer']>) =>
  Object.keys(rest).length > 0 ? `${kind} ${JSON.stringify(rest)}` : kind;

/** JSON knows no whole numbers of any size. */
const json = (_: string, value: unknown) => (typeof value === 'bigint' ? value.toString() : value);
