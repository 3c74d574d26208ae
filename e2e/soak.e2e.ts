import { randomUUID } from 'node:crypto';
import { setTimeout as wait } from 'node:timers/promises';
import { SEED } from '../scripts/testing/tier.ts';
import type { Task } from './fixtures/executor.ts';
import type { Executor } from './fixtures/executor-process.ts';
import { KINDS, once } from './fixtures/kinds.ts';
import { random } from './fixtures/random.ts';
import { expect, type Stage, test } from './fixtures/stage.ts';
import type { WorkerProcess } from './fixtures/worker-process.ts';

/**
 * Two executors and two workers on one database, all four killed at random, under shoppers who pay, get a part back, and
 * send their key again to either executor until they are told. What counts is in the database and in the gateway's ledger.
 */

/** `npm run test:soak` sets SOAK; without it, a short one. */
const LONG = Boolean(process.env.SOAK);
const SHOPPERS = LONG ? 200 : 40;
const STREAM_MS = LONG ? 60_000 : 10_000;
/** From one kill to the next: most executions live, and each process has several. */
const KILL_EVERY_MS = LONG ? { least: 1000, most: 3000 } : { least: 300, most: 1500 };
/** A call takes a while, so that it is there to be interrupted. */
const CALL_MS = 400;
/** The work that is left when the last shopper has come. */
const SETTLE_MS = 60_000;

test(`${SHOPPERS} checkouts and refunds in ${STREAM_MS / 1000} s, two executors, two workers, random kills`, {
  tag: '@chaos',
}, async ({ stage }) => {
  test.setTimeout(STREAM_MS + 2 * SETTLE_MS + 30_000);
  const { gateway } = stage;
  await gateway.heal();
  for (const { path } of Object.values(KINDS)) {
    await gateway.break({ path, method: 'POST', kind: 'latency', ms: CALL_MS, times: 1_000_000 });
  }
  const workers = await stage.workers(2);
  const apps = [new App(stage), new App(stage)];
  const before = await worldOf(stage);

  const overtakenBefore = (await overtaken(stage)).length;
  const isEnough = async () => (await overtaken(stage)).length > overtakenBefore;
  const sold = new AbortController();
  const over = { stream: AbortSignal.timeout(STREAM_MS), sales: sold.signal };
  const killing = killAtRandom(apps, workers, random(SEED), over, isEnough);
  const deadline = performance.now() + STREAM_MS + SETTLE_MS;
  const shoppers = Array.from({ length: SHOPPERS }, async (_, index) => {
    await wait((index * STREAM_MS) / SHOPPERS);
    return await shop(stage, apps, random(SEED + 1 + index), deadline);
  });
  const visits = await Promise.all(shoppers).finally(() => sold.abort());
  const kills = await killing;
  await Promise.all(apps.map((app) => app.end()));

  for (const { checkout, refund } of visits) {
    const settled = { message: `${checkout.key}, ${refund.key}`, timeout: SETTLE_MS, intervals: [100] };
    const paid = { ...once('checkout'), made: ['partially_refunded'] };
    await expect
      .poll(() => Promise.all([stage.tally(checkout), stage.tally(refund)]), settled)
      .toEqual([paid, once('refund')]);
  }
  await gateway.heal();
  const after = await worldOf(stage);
  const made = Object.fromEntries(Object.entries(after).map(([what, count]) => [what, count - before[what as 'sold']]));
  const sends = visits.reduce((sum, visit) => sum + visit.sends, 0);
  const keys = visits.flatMap(({ checkout, refund }) => [checkout.key, refund.key]);
  const takenOver = (await overtaken(stage)).filter((key) => keys.includes(key)).length;
  console.log(`${SHOPPERS} shoppers sent ${sends} requests; ${line({ ...kills, takenOver })}; ${line(made)}`);
  // Of all there is, whoever has made it: an effect that belongs to no order shows, too.
  const [one, two, four] = [1, 2, 4].map((each) => each * SHOPPERS);
  expect(made).toEqual({ sold: one, orders: one, charges: one, refunds: one, entries: four, mails: two });
  expect(kills.workers, 'workers were killed').toBeGreaterThan(0);
  expect(takenOver, 'executors were killed in the middle, so that there was something to survive').toBeGreaterThan(0);
});

/** A stand-in for an app's process: an executor that is started again whenever it was killed. */
class App {
  readonly #stage: Stage;
  #running: Promise<Executor>;

  constructor(stage: Stage) {
    this.#stage = stage;
    this.#running = stage.executor();
  }

  async execute(task: Task) {
    return await (await this.#running).execute(task);
  }

  async started(): Promise<void> {
    await this.#running;
  }

  /** kill -9, and another takes its place. */
  async kill(): Promise<void> {
    const executor = await this.#running;
    executor.signal('SIGKILL');
    this.#running = this.#stage.executor();
    await executor.end();
  }

  async end(): Promise<void> {
    await (await this.#running).end();
  }
}

/**
 * Kills a worker, then two executors, which are at work, and so on: until the stream is over, and somebody has taken over
 * what another had begun. Not for as long as there is work: on a machine that starts processes slowly, none would ever get
 * it done.
 */
async function killAtRandom(
  apps: App[],
  workers: WorkerProcess[],
  next: () => number,
  over: { stream: AbortSignal; sales: AbortSignal },
  isEnough: () => Promise<boolean>,
) {
  const kills = { executors: 0, workers: 0 };
  const { least, most } = KILL_EVERY_MS;
  const isOver = async () => over.stream.aborted && kills.executors >= 4 && (over.sales.aborted || (await isEnough()));
  for (let turn = 0; !(await isOver()); turn++) {
    const pause = least + next() * (most - least);
    if (turn % 3 === 0) {
      await wait(pause);
      if (oneOf(workers, next).kill()) kills.workers++;
    } else {
      const app = oneOf(apps, next);
      // The pause begins when it has started: nobody has asked anything of a process that is still starting.
      await app.started();
      await wait(pause);
      await app.kill();
      kills.executors++;
    }
  }
  return kills;
}

/** One shopper: pays, and then gets a part of it back. */
async function shop(stage: Stage, apps: App[], next: () => number, deadline: number) {
  const checkout = await stage.checkout();
  const order = await insist(apps, checkout, next, deadline);
  const payload = { order_id: order.id, amount: '5.00' };
  const refund: Task = { operation: 'refund', key: randomUUID(), principal: checkout.principal, payload };
  const back = await insist(apps, refund, next, deadline);
  return { checkout, refund, sends: order.sends + back.sends };
}

/** Sends it, to whichever executor, until there is an answer that counts. */
async function insist(apps: App[], task: Task, next: () => number, deadline: number) {
  for (let attempt = 1; ; attempt++) {
    const told = await oneOf(apps, next).execute({ ...task, attempt });
    if (told?.ok) return { id: told.data?.id, sends: attempt };
    // Undefined: it died before it could answer.
    if (told) expect(['in_flight', 'outcome_unknown', 'unavailable'], JSON.stringify(told)).toContain(told.code);
    expect(performance.now(), `${task.key} has no answer: ${JSON.stringify(told)}`).toBeLessThan(deadline);
    await wait(200 + next() * 300);
  }
}

/** Keys that more than one executor has had: their tokens are higher than those of their first steps. */
async function overtaken({ db }: Stage): Promise<string[]> {
  const rows = await db.$queryRaw<{ key: string }[]>`
    SELECT DISTINCT key FROM idempotency_keys k JOIN idempotency_phases p USING (tenant, principal, operation, key)
     WHERE p.fencing_token < k.fencing_token`;
  return rows.map(({ key }) => key);
}

async function worldOf({ db, gateway }: Stage) {
  const { charges, refunds } = await gateway.ledger();
  const { stock } = await db.product.findUniqueOrThrow({ where: { sku: 'mug' } });
  return {
    sold: -stock,
    orders: await db.order.count(),
    charges: charges.length,
    refunds: refunds.length,
    entries: await db.ledgerEntry.count(),
    mails: await db.mail.count(),
  };
}

function oneOf<T>(all: readonly T[], next: () => number): T {
  return all[Math.floor(next() * all.length)] as T;
}

function line(figures: Record<string, number>): string {
  return Object.entries(figures)
    .map(([figure, count]) => `${figure} ${count}`)
    .join(', ');
}
