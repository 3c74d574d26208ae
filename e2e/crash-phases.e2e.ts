import { randomUUID } from 'node:crypto';
import { setTimeout as wait } from 'node:timers/promises';
import { PATHS, type Path } from './fixtures/crash-points.ts';
import type { Task } from './fixtures/executor.ts';
import type { Executor } from './fixtures/executor-process.ts';
import { expectCounted } from './fixtures/expect-counted.ts';
import { heldAnswers } from './fixtures/held-answers.ts';
import { expect, type Stage, test } from './fixtures/stage.ts';

/**
 * kill -9 of the executor at every point of a checkout and of a refund, with and without a client that sends the key
 * again, with one worker and with three. What counts is in the database and in the gateway's ledger.
 */

/**
 * In `npm run test:chaos` each point of each kind once: the paths take turns at the points, and alternate between one worker
 * and a client beside three; `npm test` has the turn of our pool at a checkout. In `npm run test:crash` every combination at
 * every point, on each path in every other round.
 */
const isOnce = process.env.CRASH_ROUNDS === undefined;
const ROUNDS = Math.max(PATHS.length, Math.ceil(Number(process.env.CRASH_ROUNDS ?? 1) / 2));
/** How many cells run at once: two cores carry that many dying processes. */
const AT_ONCE = 4;

const pointsOf = (operation: string, first: string, call: string, last: string) => [
  `before-claim ${operation}`,
  `after-claim ${operation}`,
  `before-commit ${operation} ${first}`,
  `after-commit ${operation} ${first}`,
  `before-started ${operation} ${call}`,
  `after-started ${operation} ${call}`,
  'charged', // the gateway has done it, and its answer is on its way
  `after-answer ${operation} ${call}`,
  `after-recorded ${operation} ${call}`,
  `before-commit ${operation} ${last}`,
  `after-commit ${operation} ${last}`,
  `before-finish ${operation}`,
  `after-finish ${operation}`,
];

const KINDS = {
  checkout: pointsOf('checkout', 'order_created', 'charge_created', 'finished'),
  refund: pointsOf('refund', 'refund_reserved', 'refund_created', 'refunded'),
};

interface Table {
  kind: 'checkout' | 'refund';
  workers: 1 | 3;
  retries: boolean;
  path: Path;
}

/** The points that this path has its turn at. `first`: which path begins. */
const turnOf = (points: readonly string[], path: Path, first: number) =>
  points.filter((_, n) => !isOnce || PATHS[(first + n) % PATHS.length] === path);

const ofKind = (kind: Table['kind'], n: number): Table[] =>
  isOnce
    ? PATHS.map((path, at) => {
        const isBusy = (at + n) % 2 === 1;
        return { kind, workers: isBusy ? 3 : 1, retries: isBusy, path };
      })
    : ([1, 3] as const).flatMap((workers) =>
        [false, true].flatMap((retries) =>
          Array.from({ length: ROUNDS }, (_, round) => {
            return { kind, workers, retries, path: PATHS[round % PATHS.length] as Path };
          }),
        ),
      );

for (const [n, { kind, workers, retries, path }] of (['checkout', 'refund'] as const).flatMap(ofKind).entries()) {
  const client = retries ? 'a client that retries' : 'no client';
  const title = `kill -9 at every point of a ${kind}, ${client}, ${workers} workers, ${path.name}, table ${n + 1}`;
  const isShort = isOnce && kind === 'checkout' && path.name === 'our pool';
  test(title, { tag: isShort ? '@chaos-short' : '@chaos' }, async ({ stage }) => {
    await stage.workers(workers, path.env);
    const rows: string[] = [];
    const seller = await stage.executor(undefined, path.env);
    const cell = async (point: string) => {
      const ms = await crash(stage, kind, point, retries, seller, path.env);
      rows.push(`${point.padEnd(44)} finished ${String(Math.round(ms)).padStart(5)} ms after the kill`);
    };
    const points = turnOf(KINDS[kind], path, kind === 'refund' ? 1 : 0);
    const sendInTurn = async () => {
      for (let point = points.shift(); point; point = points.shift()) await cell(point);
    };
    await Promise.all(Array.from({ length: AT_ONCE }, sendInTurn));
    await seller.end();
    console.log(rows.sort().join('\n'));
  });
}

/** True where nothing is committed at this point. Where the pool is not ours, the first phase is before the call begins. */
const isBeforeFirstCommit = (point: string) =>
  /^(before-claim|after-claim|before-started) /.test(point) ||
  /^before-commit \w+ (order_created|refund_reserved)$/.test(point);

/** One cell: kills it there, waits for the end, counts. Returns how long the end took. `tries`: so many sales, until one is killed. */
async function crash(
  stage: Stage,
  kind: 'checkout' | 'refund',
  point: string,
  retries: boolean,
  seller: Executor,
  env: Path['env'],
  tries = 3,
): Promise<number> {
  const sale = await stage.checkout();
  const orderId = kind === 'refund' ? (await seller.execute(sale))?.data?.id : undefined;
  const task: Task =
    kind === 'checkout'
      ? sale
      : {
          operation: 'refund',
          key: randomUUID(),
          principal: sale.principal,
          payload: { order_id: orderId, amount: '5.00' },
        };
  const answers = await heldAnswers(stage.gateway.url);
  if (point === 'charged') answers.hold(kind === 'refund' ? '/v1/refunds' : '/v1/payment_intents');
  const executor = await stage.executor(point === 'charged' ? undefined : point, {
    ...env,
    STRIPE_API_BASE: answers.url,
  });
  const answer = executor.execute(task);
  if (point === 'charged') await killWhenDone(stage, executor, task, orderId);
  const told = await answer;
  await executor.end();
  answers.close();
  // On a busy machine it may miss a renewal, and a worker goes on in its place: it lives, and the next one has another sale.
  if (told?.code === 'in_flight' && executor.log.includes('LeaseLostError') && tries > 1) {
    await settles(stage, kind, task, `${point}, overtaken`);
    return await crash(stage, kind, point, retries, seller, env, tries - 1);
  }
  expect(told, `it was killed before it could answer: ${point} ${executor.log}`).toBeUndefined();
  const killedAt = performance.now();
  // Killed before its first COMMIT, which the claim is part of, a key is nobody's: only its client knows of it.
  const isKnown = (await stateOf(stage, task)) !== undefined;
  if (!isKnown) expect(isBeforeFirstCommit(point), `${point}: the claim is there`).toBe(true);
  if (retries || !isKnown) await sendAgain(stage, task, env);
  return (await settles(stage, kind, task, point)) - killedAt;
}

/** Until somebody has finished it, with one effect. Returns when that was seen. */
async function settles(stage: Stage, kind: 'checkout' | 'refund', task: Task, point: string): Promise<number> {
  await expect
    .poll(() => stateOf(stage, task), { message: `${point}: the key settles`, intervals: [100] })
    .toBe('succeeded');
  const settledAt = performance.now();
  await expectOne(stage, kind, task);
  return settledAt;
}

async function killWhenDone(
  { gateway, db }: Stage,
  executor: Executor,
  task: Task,
  orderId: string | undefined,
): Promise<void> {
  const done = async () => {
    const id = orderId ?? (await db.order.findFirst({ where: { idempotencyKey: task.key } }))?.id;
    return id ? (await (orderId ? gateway.refunds(id) : gateway.charges(id))).length : 0;
  };
  await expect.poll(done, { message: 'the gateway has done it', intervals: [20] }).toBeGreaterThan(0);
  executor.signal('SIGKILL');
}

/** As a browser does: the same key, until there is an answer that counts. */
async function sendAgain(stage: Stage, task: Task, env: Path['env']): Promise<void> {
  const executor = await stage.executor(undefined, env);
  for (let attempt = 2; ; attempt++) {
    expect(attempt, 'it has an answer').toBeLessThan(200);
    const told = await executor.execute({ ...task, attempt });
    if (told?.ok) break;
    expect(['in_flight', 'outcome_unknown', 'unavailable']).toContain(told?.code);
    await wait(250);
  }
  await executor.end();
}

async function stateOf({ db }: Stage, { key }: Task): Promise<string | undefined> {
  return (await db.idempotencyKey.findFirst({ where: { key } }))?.state;
}

async function expectOne({ db, gateway }: Stage, kind: 'checkout' | 'refund', { key }: Task): Promise<void> {
  const found = kind === 'checkout' ? await db.order.findMany({ where: { idempotencyKey: key } }) : [];
  const refunds = kind === 'refund' ? await db.refund.findMany({ where: { idempotencyKey: key } }) : [];
  const subject = found[0] ?? refunds[0];
  expect([...found, ...refunds].map(({ status }) => status)).toEqual([kind === 'checkout' ? 'paid' : 'succeeded']);
  const orderId = found[0]?.id ?? refunds[0]?.orderId ?? '';
  const effects = kind === 'checkout' ? await gateway.charges(orderId) : await gateway.refunds(orderId);
  expectCounted(effects).toHaveLength(1);
  const entries = await db.ledgerEntry.findMany({
    where: { orderId, ...(kind === 'checkout' ? {} : { refundId: subject?.id }) },
  });
  expect(entries).toHaveLength(2);
  expect(entries.reduce((sum, { amountCents }) => sum + amountCents, 0)).toBe(0);
  const mail = { kind: kind === 'checkout' ? 'receipt' : 'refund_receipt', subjectId: subject?.id };
  await expect.poll(() => db.mail.count({ where: mail }), { message: 'one receipt' }).toBe(1);
  expect(await db.idempotencyKey.count({ where: { key, state: { in: ['in_progress', 'unknown'] } } })).toBe(0);
}
