import type { Client } from '../../../shop/db.ts';
import { IdempotencyError } from '../../core/errors.ts';
import { fail } from '../../engine/handler.ts';
import { gate } from '../../integration/kit.fixture.ts';
import { type Context, ended, execute, pidOf } from './ambient/ambient.fixture.ts';
import { outside } from './async-context.ts';
import { type By, needsKill, rowsOf, type Step, WRITES, type Write } from './own-random-handlers.fixture.ts';
import { announcing, type Way } from './own-random-handlers-client.fixture.ts';

/** Runs programs as handlers, and says what is wrong with what has become of their writes. */

export const PATIENT = { timeoutMs: 60_000, maxWaitMs: 60_000 };

/** The fate of a write. */
interface Note {
  step: Write;
  /** Its rows have it. */
  name: string;
  /** Each `$transaction` that it would be rolled back with. */
  within: { isUndone: boolean }[];
  /** It is asked past the execution's transaction. */
  isPast: boolean;
  /** Whether it was refused by the kit, or has failed. None of either while nobody has heard of it. */
  end?: 'resolved' | 'refused' | 'failed';
}

/** What is known of a program in its process. */
export interface Seen {
  key: string;
  program: readonly Step[];
  notes: Note[];
  /** How often the handler was called. */
  runs: number;
  /** What the caller was told. A stored refusal was committed, whatever it says of calls to the outside. */
  answer?: { kind: string; executed: boolean | 'unknown' };
}

/** One program on its way. */
interface Running extends Seen {
  way: Way;
  onStep: () => void;
  /** A `$transaction` of it was rolled back, and the handler went on, or might have. */
  behind: Promise<void>;
  /** Everything that nobody in the handler waits for. */
  loose: Promise<unknown>[];
}

export interface Case {
  key: string;
  program: readonly Step[];
  way: Way;
}

/** Begins these at once. `onStep` is called before each step of theirs. */
export function begin(cases: readonly Case[], onStep = () => {}): { seen: Seen[]; done: Promise<void> } {
  const behind = gate();
  const all = cases.map((one): Running => ({ ...one, notes: [], runs: 0, onStep, behind: behind.opened, loose: [] }));
  const run = async () => {
    await Promise.all(all.map(executeOne));
    behind.open();
    await Promise.all(all.flatMap(({ loose }) => loose));
  };
  return { seen: all, done: run() };
}

async function executeOne(running: Running): Promise<void> {
  const { key, way } = running;
  const { outcome } = await execute(way.client, (context) => handle(context, running), { key, ...PATIENT });
  running.answer = outcome.ok
    ? { kind: 'ok', executed: true }
    : { kind: `${outcome.code}, ${outcome.executed}`, executed: outcome.code === 'failed' || outcome.executed };
}

interface Scope extends Pick<Note, 'within'> {
  running: Running;
  clients: Record<By, Client>;
  /** The innermost one, in which alone Prisma lets another transaction begin. */
  innermost: Client;
  /** The connection of the transaction, where it is to be killed. */
  pid: number;
  /** `inner` is no client of the execution. */
  isInnerPast: boolean;
}

async function performAll(steps: readonly Step[], scope: Scope): Promise<void> {
  for (const step of steps) await perform(step, scope);
}

async function perform(step: Step, scope: Scope): Promise<void> {
  const { clients, running } = scope;
  running.onStep();
  if ('write' in step) return await write(step, scope);
  if ('nested' in step) return await nest(step, scope);
  if ('caught' in step) return await performAll(step.caught, scope).catch(() => {});
  if ('loses' in step) return void (await clients.tx.$queryRawUnsafe(announcing(step.loses)));
  if ('breaks' in step) return void (await clients.tx.$executeRaw`SELECT 1 / 0`);
  if ('read' in step) {
    const db = clients[step.by];
    if (step.read === 'count') await db.auditRecord.count({ where: { action: running.key } });
    else if (step.read === 'findUnique') await db.product.findUnique({ where: { sku: 'mug' } });
    else await (step.by === 'tx' ? db.product.count() : db.$transaction([db.product.count(), db.cart.count()]));
  } else if ('kills' in step) {
    const killed = running.way.kill(scope.pid);
    running.loose.push(killed);
    if (step.kills === 'at once') await killed;
  } else if (step.ends === 'throw') {
    throw new Error('thrown');
  } else {
    fail('refused');
  }
}

async function write(step: Write, { running, clients, within, isInnerPast }: Scope): Promise<void> {
  const { by, how } = step;
  const isGone = how === 'outside' || how === 'left behind';
  const isPast = by === 'other' || (by === 'global' && running.way.isPlain) || (by === 'inner' && isInnerPast);
  const name = `${running.key}/${running.runs}.${step.number}`;
  const note: Note = { step, name, within, isPast: isPast && !isGone };
  running.notes.push(note);
  const ask = () => WRITES[step.write](clients[by], name);
  const noted = async (asked: PromiseLike<unknown>) => {
    try {
      await asked;
      note.end = 'resolved';
    } catch (error) {
      note.end = error instanceof IdempotencyError ? 'refused' : 'failed';
      throw error;
    }
  };
  if (how === 'awaited') await noted(ask());
  if (how === 'outside') await outside(() => noted(ask()));
  if (how === 'never sent') ask();
  if (how === 'sent, and not awaited') running.loose.push(ended(noted(ask())));
  if (how === 'left behind') running.loose.push(ended(running.behind.then(() => noted(ask()))));
}

async function nest({ nested, by }: Extract<Step, { nested: unknown }>, scope: Scope): Promise<void> {
  const isBeside = by === 'global' && scope.running.way.isPlain;
  const mark = { isUndone: false };
  const run = (inner: Client) =>
    performAll(nested, {
      ...scope,
      clients: { ...scope.clients, inner },
      innermost: isBeside ? scope.innermost : inner,
      within: isBeside ? scope.within : [...scope.within, mark],
      isInnerPast: isBeside,
    });
  try {
    await (by === 'tx' ? scope.innermost : scope.clients.global).$transaction((inner) => run(inner as Client), {
      maxWait: 60_000,
      timeout: 60_000,
    });
  } catch (error) {
    mark.isUndone = true;
    throw error;
  }
}

async function handle({ tx }: Context, running: Running): Promise<string> {
  const { program, way } = running;
  running.runs++;
  const pid = needsKill(program) ? await pidOf(tx) : 0;
  const clients = { tx, inner: tx, global: way.client, other: way.other };
  await performAll(program, { running, clients, innermost: tx, within: [], pid, isInnerPast: false });
  return 'done';
}

interface Answer {
  executed: boolean | 'unknown';
  /** The key has a row. */
  isSettled: boolean;
  /** That the write has left. */
  rows: number;
}

/** What is wrong with a write, in words. */
export function* faultsOf(note: Note, { key, runs }: Seen, { executed, isSettled, rows }: Answer): Generator<string> {
  const { step, within, isPast, end } = note;
  const hasResolved = end === 'resolved';
  const isThere = rows > 0;
  const isUndone = within.some((nested) => nested.isUndone);
  if (isThere && rows !== rowsOf(step)) yield `${rows} of ${rowsOf(step)} rows`;
  if (isPast && hasResolved) yield 'is past the transaction, and was not refused';
  if (step.how === 'outside' || step.how === 'left behind') {
    if (isThere !== hasResolved && !(isThere && isPending(note))) yield `resolved: ${hasResolved}, there: ${isThere}`;
    if (step.how === 'left behind') yield* faultsBehind(note, executed, isUndone);
    return;
  }
  const isOfLast = note.name.startsWith(`${key}/${runs}.`);
  const counts = isSettled && isOfLast && !isUndone;
  if (isThere !== (counts && hasResolved) && !(counts && isPending(note)))
    yield `resolved: ${hasResolved}, rolled back: ${isUndone}, there: ${isThere}`;
  if (step.how === 'never sent' && counts && !isPast) yield 'is missing in a success';
}

/** Its process was killed before its end was heard of: it may be there. */
const isPending = ({ end, step }: Note) => end === undefined && step.how !== 'never sent';

function* faultsBehind({ step: { by }, end }: Note, executed: unknown, isUndone: boolean) {
  if (end === 'resolved' && (by === 'tx' || by === 'inner')) yield 'was done behind the end';
  else if (end === 'resolved' && executed !== true) yield 'was done behind a rollback, or an end that is not known';
  else if (end === 'refused' && (by === 'global' || by === 'other') && executed === true && !isUndone)
    yield 'was refused behind COMMIT';
}
