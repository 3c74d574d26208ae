import { randomUUID } from 'node:crypto';
import type { Task } from './fixtures/executor.ts';
import type { Executor } from './fixtures/executor-process.ts';
import { expectCounted } from './fixtures/expect-counted.ts';
import { heldAnswers } from './fixtures/held-answers.ts';
import { KINDS, type Kind, once } from './fixtures/kinds.ts';
import { expect, type Stage, test } from './fixtures/stage.ts';

/**
 * An executor that stops breathing (SIGSTOP: a paused machine, a long garbage collection) is taken over when its lease
 * ends. When it goes on (SIGCONT) it changes nothing any more: its write fails with `LeaseLostError`, and its caller is
 * answered with what the other executor has done.
 */

/** Sells what a refund gives back. The task that is to be paused, and what it will answer with. */
async function prepare(stage: Stage, kind: Kind, executor: Executor): Promise<Task> {
  const sale = await stage.checkout();
  if (kind === 'checkout') return sale;
  const sold = await executor.execute(sale);
  const payload = { order_id: sold?.data?.id, amount: '5.00' };
  return { operation: 'refund', key: randomUUID(), principal: sale.principal, payload };
}

/** Where the executor is paused, and how a test sees that it is there. */
const MOMENTS = {
  'while its call is under way': async (stage: Stage, kind: Kind, _: Executor, hold: (path: string) => void) => {
    hold(KINDS[kind].path);
    return async (task: Task) => (await stage.tally(task)).moved === 1;
  },
  'with an answer that it has not written down': async (stage: Stage, kind: Kind, executor: Executor) => {
    const { call } = KINDS[kind];
    await executor.holdAt(`after-answer ${kind} ${call}`);
    return async ({ key }: Task) => {
      const step = await stage.db.idempotencyPhase.findFirst({ where: { key, name: call } });
      const sends = await stage.gateway.sends(step?.derivedKey ?? '');
      return sends[0]?.status === 200;
    };
  },
  'before its last transaction': async (stage: Stage, kind: Kind, executor: Executor) => {
    const { call } = KINDS[kind];
    await executor.holdAt(`after-recorded ${kind} ${call}`);
    return async ({ key }: Task) =>
      (await stage.db.idempotencyPhase.count({ where: { key, name: call, state: 'done' } })) === 1;
  },
};

for (const kind of ['checkout', 'refund'] as const) {
  for (const [moment, arrange] of Object.entries(MOMENTS)) {
    const isShort = kind === 'checkout' && moment.startsWith('with an answer');
    test(`a ${kind} is taken over from an executor that is paused ${moment}`, {
      tag: isShort ? '@chaos-short' : '@chaos',
    }, async ({ stage }) => {
      await stage.workers(1);
      const answers = await heldAnswers(stage.gateway.url);
      const executor = await stage.executor(undefined, { STRIPE_API_BASE: answers.url });
      const task = await prepare(stage, kind, executor);
      const isThere = await arrange(stage, kind, executor, answers.hold);
      const answer = executor.execute(task);
      await expect.poll(() => isThere(task), { message: 'it is there', intervals: [20] }).toBe(true);
      executor.signal('SIGSTOP');
      await expect
        .poll(() => stage.tally(task), { message: 'a worker finishes it', intervals: [50] })
        .toEqual(once(kind));

      answers.letGo();
      await executor.letGo();
      executor.signal('SIGCONT');
      const made = { checkout: stage.db.order, refund: stage.db.refund }[kind] as typeof stage.db.order;
      const [{ id } = { id: '' }] = await made.findMany({ where: { idempotencyKey: task.key } });
      expect(await answer).toMatchObject({ ok: true, replayed: true, data: { id, status: KINDS[kind].done } });
      await expect.poll(() => executor.log, { message: 'it has said so', intervals: [50] }).toContain('LeaseLostError');
      expectCounted(await stage.tally(task), 'it has changed nothing').toEqual(once(kind));
      await executor.end();
      answers.close();
    });
  }
}
