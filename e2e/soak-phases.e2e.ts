import { setTimeout as wait } from 'node:timers/promises';
import type { Task } from './fixtures/executor.ts';
import type { Executor } from './fixtures/executor-process.ts';
import { expect, type Stage, test } from './fixtures/stage.ts';

/**
 * Two executors and two workers on one database, under checkouts whose clients send their key again, to either. All four
 * are killed at random. What counts is in the database and in the gateway's ledger.
 */

/** `npm run test:soak` sets SOAK; without it, a short one. */
const LONG = Boolean(process.env.SOAK);
const CHECKOUTS = LONG ? 200 : 40;
const STREAM_MS = LONG ? 60_000 : 10_000;
/** From one kill to the next: most executions live, and each process has several. */
const KILL_EVERY_MS = LONG ? { least: 1000, most: 3000 } : { least: 300, most: 1500 };
/** A charge takes a while, so that it is there to be interrupted. */
const CHARGE_MS = 50;

/** Says which process is killed when, and where each client turns to; how they meet is up to the machine. */
const SEED = Number(process.env.SOAK_SEED ?? Math.floor(Math.random() * 2 ** 31));

test(`${CHECKOUTS} checkouts in ${STREAM_MS / 1000} s, two executors, two workers, random kills`, async ({ stage }) => {
  test.setTimeout(STREAM_MS + 120_000);
  const { db, gateway } = stage;
  console.log(`Seed ${SEED} (SOAK_SEED=${SEED} does it again)`);
  await gateway.heal();
  await gateway.break({ path: '/v1/payment_intents', kind: 'latency', ms: CHARGE_MS, times: 1_000_000 });
  const workers = await stage.workers(2);
  const apps = [new App(stage), new App(stage)];
  const tasks = await Promise.all(Array.from({ length: CHECKOUTS }, () => stage.checkout()));
  const before = await worldOf(stage);

  const over = new AbortController();
  const killing = killAtRandom(apps, workers, random(SEED), over.signal);
  const answers = await Promise.all(
    tasks.map(async (task, index) => {
      await wait((index * STREAM_MS) / CHECKOUTS);
      return await buy(apps, task, random(SEED + 1 + index));
    }),
  );
  over.abort();
  const kills = await killing;
  await Promise.all(apps.map((app) => app.end()));

  const keys = tasks.map(({ key }) => key);
  const unsettled = { key: { in: keys }, state: { in: ['in_progress', 'unknown'] } };
  await expect
    .poll(() => db.idempotencyKey.count({ where: unsettled }), { message: 'every key settles', timeout: 30_000 })
    .toBe(0);
  const orders = await db.order.findMany({ where: { idempotencyKey: { in: keys } } });
  const own = { orderId: { in: orders.map(({ id }) => id) } };
  await expect
    .poll(() => db.mail.count({ where: { ...own, kind: 'receipt' } }), { message: 'receipts', timeout: 30_000 })
    .toBeGreaterThanOrEqual(CHECKOUTS);
  await gateway.heal();

  const after = await worldOf(stage);
  const counts = {
    keys: await db.idempotencyKey.count({ where: { key: { in: keys }, state: 'succeeded' } }),
    paid: orders.filter(({ status }) => status === 'paid').length,
    charges: after.charges - before.charges,
    postings: (after.entries - before.entries) / 2,
    receipts: after.mails - before.mails,
    sold: before.stock - after.stock,
  };
  console.log(
    `${line(counts)}; ${line(kills)} killed; ${line({ sends: sum(answers), unsettled: await db.idempotencyKey.count({ where: unsettled }) })}`,
  );
  expect(counts).toEqual(Object.fromEntries(Object.keys(counts).map((figure) => [figure, CHECKOUTS])));
  for (const { key } of tasks) await expectOne(stage, key);
  expect(kills.executors, 'the executors were killed, so that there was something to survive').toBeGreaterThan(0);
  expect(kills.workers, 'the workers were killed').toBeGreaterThan(0);
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

  /** kill -9, and another takes its place. Not while that one is still starting: nobody has asked it anything yet. */
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

/** Kills an executor twice as often as a worker: it is the one that is at work. */
async function killAtRandom(
  apps: App[],
  workers: Awaited<ReturnType<Stage['workers']>>,
  next: () => number,
  over: AbortSignal,
): Promise<{ executors: number; workers: number }> {
  const kills = { executors: 0, workers: 0 };
  const one = <T>(of: T[]) => of[Math.floor(next() * of.length)] as T;
  const { least, most } = KILL_EVERY_MS;
  while (await lasts(least + next() * (most - least), over)) {
    if (next() < 2 / 3) {
      kills.executors++;
      await one(apps).kill();
    } else {
      if (killed(one(workers))) kills.workers++;
    }
  }
  return kills;
}

/** False: it is still dead from the time before. */
function killed(worker: { kill(): void }): boolean {
  try {
    worker.kill();
    return true;
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === 'ESRCH') return false;
    throw error;
  }
}

/** The client of one checkout: sends it until there is an answer that counts. Returns how often. */
async function buy(apps: App[], task: Task, next: () => number): Promise<number> {
  const deadline = performance.now() + 90_000;
  for (let attempt = 1; ; attempt++) {
    const told = await (apps[Math.floor(next() * apps.length)] as App).execute({ ...task, attempt });
    if (told?.ok) return attempt;
    // Undefined: it died before it could answer.
    if (told) expect(['in_flight', 'outcome_unknown', 'unavailable'], JSON.stringify(told)).toContain(told.code);
    expect(performance.now(), `${task.key} has no answer: ${JSON.stringify(told)}`).toBeLessThan(deadline);
    // An executor does one task after the other, and a duplicate makes it wait: more would only be in the way.
    await wait(500 + next() * 1000);
  }
}

/** All that there is, whoever has made it: an effect that belongs to no order shows, too. */
async function worldOf({ db, gateway }: Stage) {
  const { charges } = (await (await fetch(`${gateway.url}/_ledger`)).json()) as { charges: unknown[] };
  const { stock } = await db.product.findUniqueOrThrow({ where: { sku: 'mug' } });
  return { charges: charges.length, entries: await db.ledgerEntry.count(), mails: await db.mail.count(), stock };
}

async function expectOne({ db, gateway }: Stage, key: string): Promise<void> {
  const orders = await db.order.findMany({ where: { idempotencyKey: key }, include: { entries: true, mails: true } });
  expect(orders.map(({ status }) => status)).toEqual(['paid']);
  for (const { id, amountCents, paymentIntent, entries, mails } of orders) {
    expect(await gateway.charges(id)).toMatchObject([{ amount: amountCents, payment_intent: paymentIntent }]);
    const booked = entries.map((entry) => [entry.account, entry.amountCents]).sort();
    expect(booked).toEqual([
      ['payments', amountCents],
      ['sales', -amountCents],
    ]);
    expect(mails.map(({ kind }) => kind)).toEqual(['receipt']);
  }
}

/** Whether that time has passed and it is not over. */
async function lasts(ms: number, over: AbortSignal): Promise<boolean> {
  return await wait(ms, true, { signal: over }).catch(() => false);
}

function sum(values: readonly number[]): number {
  return values.reduce((total, value) => total + value, 0);
}

function line(figures: Record<string, number>): string {
  return Object.entries(figures)
    .map(([figure, count]) => `${count} ${figure}`)
    .join(', ');
}

/** Numbers from 0 to 1 that the seed alone decides: mulberry32. */
function random(seed: number): () => number {
  let state = seed | 0;
  return () => {
    state = (state + 0x6d2b79f5) | 0;
    let mixed = Math.imul(state ^ (state >>> 15), 1 | state);
    mixed = (mixed + Math.imul(mixed ^ (mixed >>> 7), 61 | mixed)) ^ mixed;
    return ((mixed ^ (mixed >>> 14)) >>> 0) / 2 ** 32;
  };
}
