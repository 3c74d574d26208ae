import { setTimeout as sleep } from 'node:timers/promises';
import type { Executor } from '../fixtures/executor-process.ts';
import type { GatewayProcess } from '../fixtures/gateway-process.ts';
import { type Cluster, query, type Setting } from './cluster.ts';
import type { Consumer } from './consumer.ts';
import { FAILURES, type Failure } from './failures.ts';
import { CLIENTS, type Intent, type Kind, kindsIn, Load } from './load.ts';
import { type Found, find, isLost, isTorn, type Twice, twice } from './tally.ts';

/** How many intents of each kind are settled before the failure. */
const WARM = 3;
const WARM_UP_MS = 60_000;
/** How long is waited for what should take 5 s, to see how long it takes. */
const LOOK_MS = 15_000;

/** The outcome of one failover. Times are milliseconds behind the moment at which the new primary answered. */
export interface Round extends Twice {
  acknowledged: number;
  /** Of these, what was not there behind the failover; what of that was there in part. */
  lost: number;
  torn: Found[];
  /** Never settled, by kind. */
  unsettled: Intent[];
  /** Lost, and not done when it had been sent again for a while. */
  unrepaired: number;
  /** Answers to lost intents that no row stood behind. */
  fromMemory: number;
  /** The first answer to each kind, of the app that took longer; and the first event of a new order. */
  recovery: Partial<Record<Kind | 'events', number>>;
  /** Until everything that was under way at the failure was settled, by kind. */
  stragglers: Partial<Record<Kind, number>>;
  /** How often sends were told what, behind the failure, that settles nothing. */
  told: Record<string, number>;
}

export interface Stage {
  cluster: Cluster;
  apps: Executor[];
  gateway: GatewayProcess;
  consumer: Consumer;
}

/** One failover under load, and what became of everything that was sent. */
export async function failOver(stage: Stage, failure: Failure, setting: Setting): Promise<Round> {
  const { cluster, apps, consumer } = stage;
  const kinds = kindsIn(setting);
  const load = new Load(apps, kinds);
  const each = (isDone: (kind: Kind) => boolean, withinMs = LOOK_MS) => until(() => kinds.every(isDone), withinMs);
  const settledSince = (start: number, kind: Kind) =>
    load.settled.slice(start).filter((one) => one.kind === kind).length;
  const isWarm = await each((kind) => settledSince(0, kind) >= WARM, WARM_UP_MS);
  if (!isWarm) throw new Error(`Nothing works before the failure: ${JSON.stringify([...load.open])}`);
  const { length } = load.settled;
  cluster.cutReplication();
  // The worst moment: all synchronous commits stand on the primary alone, and wait; asynchronous ones of each kind are acknowledged.
  const waiting = kinds.length * CLIENTS;
  if (setting.isDurable) await until(async () => (await waitingCommits(cluster)) >= waiting, LOOK_MS);
  else await each((kind) => settledSince(length, kind) >= 1);
  const failedAt = performance.now();
  load.told = {};
  await FAILURES[failure](cluster);
  const answersAt = performance.now();

  const firstOf = (kind: Kind, by: number) =>
    load.settled.find((intent) => intent.kind === kind && intent.by === by && (intent.settledAt ?? 0) > answersAt);
  const toldOf = () => load.settled.find(({ key, bornAt }) => bornAt > answersAt && consumer.heardAt.has(key));
  await each((kind) => apps.every((_, by) => firstOf(kind, by)) && toldOf() !== undefined);
  const unsettled = await load.end(LOOK_MS);

  const behind = (at: number | undefined) => (at === undefined ? Infinity : at - answersAt);
  const recovery = Object.fromEntries([
    ...kinds.map((kind) => [kind, Math.max(...apps.map((_, by) => behind(firstOf(kind, by)?.settledAt)))]),
    ['events', behind(consumer.heardAt.get(toldOf()?.key ?? ''))],
  ]);
  const underWay = [...load.settled, ...unsettled].filter(
    ({ bornAt, settledAt = Infinity }) => bornAt < answersAt && settledAt > failedAt,
  );
  const stragglers = Object.fromEntries(
    kinds.map((kind) => {
      const times = underWay
        .filter((intent) => intent.kind === kind)
        .map(({ settledAt }) => behind(settledAt ?? Infinity));
      return [kind, Math.max(0, ...times)];
    }),
  );

  const found = await find(cluster, load.settled);
  const lost = found.filter(isLost);
  const again = load.settled.filter(({ key }) => lost.some((one) => one.key === key));
  const { fromMemory, unrepaired } = await sendAgain(stage, load, again);
  const all = [...load.settled, ...unsettled];
  await until(async () => (await openDeliveries(cluster)) === 0, LOOK_MS);
  await until(async () => (await twice(cluster, stage, all)).untold === 0, LOOK_MS);
  return {
    acknowledged: load.settled.length,
    lost: lost.length,
    torn: found.filter(isTorn),
    unsettled,
    unrepaired,
    fromMemory,
    recovery,
    stragglers,
    told: load.told,
    ...(await twice(cluster, stage, all)),
  } as Round;
}

/** Clients who come back: each lost intent, under its key, until it is done. */
async function sendAgain({ cluster }: Stage, load: Load, lost: Intent[]) {
  let fromMemory = 0;
  let open = lost;
  await until(async () => {
    const told = await Promise.all(open.map((intent) => load.send(intent)));
    const missing = new Set((await find(cluster, open)).filter(isLost).map(({ key }) => key));
    fromMemory += open.filter(({ key }, n) => told[n]?.ok && missing.has(key)).length;
    open = open.filter(({ key }) => missing.has(key));
    if (open.length > 0) await sleep(250);
    return open.length === 0;
  }, LOOK_MS);
  return { fromMemory, unrepaired: open.length };
}

async function waitingCommits(cluster: Cluster): Promise<number> {
  // One that notifies holds a lock meanwhile, for which all others wait that notify.
  const waiting = `wait_event = 'SyncRep' OR (query = 'COMMIT' AND wait_event_type = 'Lock')`;
  return (await query(cluster.primary, `SELECT FROM pg_stat_activity WHERE ${waiting}`)).length;
}

async function openDeliveries(cluster: Cluster): Promise<number> {
  return (await query(cluster.primary, `SELECT FROM outbox_deliveries WHERE state = 'pending'`)).length;
}

/** False: it has not become true in time. */
async function until(isTrue: () => boolean | Promise<boolean>, withinMs: number): Promise<boolean> {
  const deadline = performance.now() + withinMs;
  while (!(await isTrue())) {
    if (performance.now() > deadline) return false;
    await sleep(20);
  }
  return true;
}
