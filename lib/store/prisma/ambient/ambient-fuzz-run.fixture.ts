import { inspect } from 'node:util';
import type { Transaction } from '../../../../shop/db.ts';
import type { HandlerContext } from '../../../engine/handler.ts';
import { sqlState } from '../errors.ts';
import type { Query, Step } from './ambient-fuzz.fixture.ts';
import { type Names, QUERIES } from './ambient-fuzz-queries.fixture.ts';

/** Runs a program as a handler, and tells what it has seen. */

export type Context = HandlerContext<unknown, Transaction>;

/** Observations, in words that are the same for both modes. */
export const plain = (seen: unknown, { space }: Names) =>
  inspect(seen, { depth: null, breakLength: 120, maxStringLength: null }).replaceAll(space, '~');

/** The queries that have been answered, so that one can see which never are. */
export const worked = new Set<Query['query']>();

class Thrown extends Error {}
/** Ends the transaction that the branch is in, whoever would catch it before. See `programOf`. */
class BranchFailed extends Error {}

interface Scope {
  context: Context;
  names: Names;
  /** The client that its queries go through. */
  tx: Transaction;
  /** The innermost transaction, in which alone Prisma lets another one begin. */
  inner: Transaction;
  seen: unknown[];
  /** A statement has failed in it, so that none will be done any more until it is rolled back. */
  isBroken?: boolean;
}

/** @returns everything that its steps have seen, in order */
export async function perform(steps: readonly Step[], context: Context, names: Names): Promise<unknown[]> {
  const scope: Scope = { context, names, tx: context.tx, inner: context.tx, seen: [] };
  await performAll(steps, scope);
  return scope.seen;
}

async function performAll(steps: readonly Step[], scope: Scope): Promise<void> {
  for (const step of steps) await performOne(step, scope);
}

async function performOne(step: Step, scope: Scope): Promise<void> {
  const { context, seen } = scope;
  if ('query' in step) return void seen.push([step.query, await ask(step, scope)]);
  if ('nested' in step) return await nest(step, scope);
  if ('together' in step) return await performTogether(step, scope);
  if ('throws' in step) throw new Thrown(`thrown ${step.throws}`);
  if ('refuses' in step) context.fail('refused', { because: step.refuses });
  if ('attempt' in step) {
    await performAll(step.attempt, scope).catch((error: unknown) => {
      if (error instanceof BranchFailed) throw error;
      seen.push(['caught', saidBy(error)]);
    });
  } else if ('captures' in step) {
    const { captures, by } = step;
    seen.push([captures, await context.capture(captures, async () => (by ? await ask(by, scope) : captures))]);
  } else if ('pauses' in step) {
    await new Promise<void>((resolve) => (step.pauses === 'a tick' ? process.nextTick : setImmediate)(resolve));
  }
}

async function nest({ nested, via }: Extract<Step, { nested: unknown }>, scope: Scope): Promise<void> {
  const value = await scope.inner.$transaction(async (inner) => {
    const within: Scope = { ...scope, tx: via === 'inner' ? inner : scope.tx, inner, isBroken: false };
    await performAll(nested, within).catch((error) => {
      throw error instanceof BranchFailed ? new Thrown(error.message) : error;
    });
    // Prisma would end the transaction around it as well. See `programOf`.
    if (within.isBroken) throw new Thrown('swallowed the failure of a statement');
    return nested.length;
  });
  scope.seen.push(['nested', value]);
}

async function performTogether(step: Extract<Step, { together: unknown }>, scope: Scope): Promise<void> {
  const branches = step.together.map((branch) => ({ branch, at: { ...scope, seen: [] as unknown[] } }));
  const running = branches.map(({ branch, at }) => performAll(branch, at));
  if (step.leaves === 'the others') await Promise.all(running);
  const failed = (await Promise.allSettled(running)).some(({ status }) => status === 'rejected');
  if (failed) throw new BranchFailed('a branch failed');
  scope.seen.push(['together', ...branches.map(({ at }) => at.seen)]);
}

async function ask(query: Query, scope: Scope): Promise<unknown> {
  try {
    const found = await QUERIES[query.query](scope.tx, scope.names, query);
    // Prisma answers nothing where it has sent nothing, behind a branch that has failed.
    if (found !== undefined) worked.add(query.query);
    return found;
  } catch (error) {
    scope.isBroken ||= sqlState(error) !== undefined;
    throw error;
  }
}

/** The part of an error that counts. In a transaction that has failed already, it is told in words that depend on who asks. */
function saidBy(error: unknown): string {
  if (error instanceof Thrown) return error.message;
  const { name, code } = error as { name?: string; code?: string };
  const state = sqlState(error);
  return state === '25P02' ? 'aborted' : `${name} ${code} ${state}`;
}
