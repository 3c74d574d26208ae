import { expect, test } from '@playwright/test';
import { startNats } from '../scripts/services/nats.ts';
import { isWithout } from '../scripts/testing/without.ts';
import { Cluster, type Setting } from './failover/cluster.ts';
import { type Consumer, startConsumer } from './failover/consumer.ts';
import { FAILURES, type Failure } from './failover/failures.ts';
import { failOver, type Round } from './failover/round.ts';
import { SETTINGS } from './failover/settings.ts';
import { failoverTable, type Line } from './failover/table.ts';
import { Executor } from './fixtures/executor-process.ts';
import { type GatewayProcess, startGatewayProcess } from './fixtures/gateway-process.ts';

/**
 * Two apps and a worker on a primary with a streaming standby, under load, while the primary fails and the standby takes its
 * place. What counts is in the new primary, in the gateway's ledger and in the database of a consumer of events.
 */

/** `npm run test:failover` sets it: so many failovers of each kind in each setting. Without it each kind has one. */
const ROUNDS = Number(process.env.FAILOVER_ROUNDS ?? 0);
const ONCE: Record<Failure, string> = {
  silent: 'synchronous',
  reset: 'replicated',
  'kill -9': 'synchronous',
  'read-only': 'asynchronous',
};
/**
 * From the moment at which the new primary answers to the first answer of each app, in each way, and to the first event of a new
 * order. How fast that is, `npm run test:failover` measures; one failover of each kind only shows that everybody goes on.
 */
const RECOVERY_MS = ROUNDS > 0 ? 5000 : 30_000;
const ROUND_MS = 120_000;
const EVENTS = 'failover';

interface World {
  cluster: Cluster;
  gateway: GatewayProcess;
  nats: Awaited<ReturnType<typeof startNats>>;
  consumer: Consumer;
}
let world: World;
let running: { setting: Setting; processes: Executor[] } | undefined;
const lines: Line[] = [];

test.skip(isWithout('nats'), 'nats');

test.beforeAll(async () => {
  const nats = await startNats();
  const [cluster, gateway, consumer] = await Promise.all([
    Cluster.create(),
    startGatewayProcess(),
    startConsumer(nats.url, EVENTS),
  ]);
  world = { cluster, gateway, nats, consumer };
});

test.afterAll(async () => {
  console.log(failoverTable(lines).join('\n'));
  await endProcesses();
  await world?.cluster.close();
  await world?.consumer.close();
  await world?.gateway.stop();
  await world?.nats.close();
});

for (const failure of Object.keys(FAILURES) as Failure[]) {
  for (const setting of SETTINGS.filter(({ name }) => ROUNDS > 0 || name === ONCE[failure])) {
    // One without loss, and one with it.
    const tag = ['kill -9', 'read-only'].includes(failure) ? '@chaos-short' : '@chaos';
    test(`${failure}, ${setting.name}`, { tag }, async () => {
      const rounds = Math.max(1, ROUNDS);
      test.setTimeout(rounds * ROUND_MS);
      const line: Line = { failure, setting: setting.name, rounds: [] };
      lines.push(line);
      for (let n = 1; n <= rounds; n++) {
        const round = await oneFailover(failure, setting);
        line.rounds.push(round);
        if (ROUNDS > 0) console.log(`${failure}, ${setting.name}: ${n} of ${rounds}; ${JSON.stringify(round.told)}`);
      }
      for (const round of line.rounds) keepsItsPromise(round, setting);
    });
  }
}

async function oneFailover(failure: Failure, setting: Setting): Promise<Round> {
  const { cluster, gateway, consumer } = world;
  await cluster.form(setting);
  const [worker, ...apps] = await processesFor(setting);
  try {
    return await failOver({ cluster, apps, gateway, consumer }, failure, setting);
  } catch (error) {
    console.log([worker, ...apps].map((each) => each?.log.slice(-2000)).join('\n'));
    throw error;
  }
}

/** A worker and two apps, which live through every failover of a setting. */
async function processesFor(setting: Setting): Promise<Executor[]> {
  if (running?.setting === setting) return running.processes;
  await endProcesses();
  const { cluster, gateway, nats } = world;
  const env = { DATABASE_URL: cluster.url, GATEWAY_URL: gateway.url, NATS_URL: nats.url, EVENTS };
  const more = { DURABILITY: setting.durability ?? '' };
  const processes = await Promise.all(
    ['worker', 'app', 'app'].map((ROLE) => Executor.ofProgram('failover-app', { ...env, ...more, ROLE })),
  );
  running = { setting, processes };
  return processes;
}

async function endProcesses(): Promise<void> {
  const ending = running?.processes ?? [];
  running = undefined;
  for (const each of ending) each.signal('SIGKILL');
  await Promise.all(ending.map((each) => each.end()));
}

function keepsItsPromise(round: Round, { isDurable }: Setting): void {
  const { acknowledged, lost, recovery, told, torn, unrepaired, unsettled, executed, charged, events, untold } = round;
  expect(acknowledged).toBeGreaterThan(0);
  if (isDurable) expect(lost, 'what was acknowledged is there').toBe(0);
  // An intent is lost whole, and done once when it is sent again.
  expect({ torn, executed, charged, events }).toEqual({ torn: [], executed: 0, charged: 0, events: 0 });
  expect({ unsettled, unrepaired, untold }).toEqual({ unsettled: [], unrepaired: 0, untold: 0 });
  const bugs = Object.keys(told).filter((word) => word.endsWith('internal'));
  if (isDurable) expect(bugs, 'nobody calls it a bug').toEqual([]);
  const slow = Object.entries(recovery).filter(([, ms]) => !(ms < RECOVERY_MS));
  expect(slow, 'everybody goes on by themselves').toEqual([]);
}
