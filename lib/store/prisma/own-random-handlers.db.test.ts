import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { createInterface } from 'node:readline';
import { fileURLToPath } from 'node:url';
import { expect, test } from 'vitest';
import { random } from '../../../e2e/fixtures/random.ts';
import { bundle } from '../../../scripts/package/bundle.ts';
import { COUNTED } from '../../../scripts/testing/effects-mark.ts';
import { SEED, tier } from '../../../scripts/testing/tier.ts';
import { until } from '../../../scripts/testing/until.ts';
import { ignoreWarning } from '../../../scripts/testing/warnings.ts';
import type { Client } from '../../../shop/db.ts';
import { effect } from '../../integration/kit.fixture.ts';
import { type Context, execute, stage } from './ambient/ambient.fixture.ts';
import type { Order, Told } from './own-random-handlers.child.ts';
import { COUNT, codeOf, programOf, type Step, smaller } from './own-random-handlers.fixture.ts';
import { type Way, wayOn } from './own-random-handlers-client.fixture.ts';
import { begin, faultsOf, PATIENT, type Seen } from './own-random-handlers-run.fixture.ts';

/** Random handlers leave all or nothing, and the answer says which: on the kit's pool, and in transactions of Prisma's. */

/** On each way, and once more that many in a process that is killed. `npm run test:crash` runs thousands. */
const HANDLERS = Number(process.env.FUZZ_HANDLERS ?? (tier === 'short' ? 40 : 500));
const AT_ONCE = 8;
/** A process takes as long to start as some of them to run, so many die with it. */
const KILLED_AT_ONCE = 20;

const here = stage();

let programs = 0;
const nextKey = () => `random-${++programs}`;

/** Runs these at once, each with a key of its own. @returns what was wrong with each */
async function run(some: readonly (readonly Step[])[], way: Way, kinds?: Map<string, number>): Promise<string[][]> {
  const { seen, done } = begin(some.map((program) => ({ key: nextKey(), program, way })));
  await done;
  await here.watch.untilIdle();
  return await judge(seen, way.client, kinds);
}

/** Sends each key again, and looks what was there before and is there behind. @returns what was wrong with each */
async function judge(all: readonly Seen[], client: Client, kinds = new Map<string, number>()): Promise<string[][]> {
  const keys = all.map(({ key }) => key);
  const before = await countAll(keys);
  const again = await Promise.all(keys.map((key) => sendAgain(client, key)));
  const after = await countAll(keys);
  return all.map((seen, n) => {
    const { key, notes, answer = { kind: 'nobody', executed: 'unknown' as const } } = seen;
    const { executed } = answer;
    const isSettled = before.keys.has(key);
    const kind = seen.answer ? answer.kind : `no answer, key row: ${isSettled}`;
    kinds.set(kind, (kinds.get(kind) ?? 0) + 1);
    const wrong: string[] = [];
    if (executed !== 'unknown' && executed !== isSettled) wrong.push(`executed: ${executed}, key row: ${isSettled}`);
    for (const note of notes) {
      const told = `${note.step.by}.${note.step.write}(${note.name}), ${note.step.how}`;
      const rows = before.rows.get(note.name) ?? 0;
      for (const fault of faultsOf(note, seen, { executed, isSettled, rows })) wrong.push(`${told}: ${fault}`);
    }
    const expected = isSettled ? { replayed: true, effects: 0 } : { replayed: false, effects: 1 };
    const found = { replayed: again[n]?.replayed, effects: after.rows.get(`${key}/again`) ?? 0 };
    if (JSON.stringify(found) !== JSON.stringify(expected)) wrong.push(`sent again: ${JSON.stringify(found)}`);
    if (!after.keys.has(key)) wrong.push('sent again: no key row');
    return wrong.length > 0 ? [`answered ${kind}`, ...wrong] : [];
  });
}

/** The second call, by a handler that does no harm; again where its connection was one that has been killed. */
async function sendAgain(client: Client, key: string) {
  for (let attempt = 2; ; attempt++) {
    const handle = ({ tx }: Context) => effect(tx, `${key}/again`);
    const { outcome } = await execute(client, handle, { key, attempt, ...PATIENT });
    if (outcome.ok || outcome.code !== 'unavailable' || attempt > 5) return outcome;
  }
}

async function countAll(keys: readonly string[]) {
  const { rows } = await here.watch.query(COUNT, [keys]);
  const stored = await here.watch.query('SELECT key FROM idempotency_keys WHERE key = ANY($1)', [keys]);
  return {
    rows: new Map<string, number>(rows.map(({ name, rows }) => [name, rows])),
    keys: new Set<string>(stored.rows.map(({ key }) => key)),
  };
}

/** With everything left out without which it is wrong, too, when it runs alone. */
async function smallest(found: { program: readonly Step[]; wrong: string[] }, way: Way): Promise<typeof found> {
  for (const program of smaller(found.program)) {
    const [wrong] = await run([program], way);
    if (wrong?.length) return await smallest({ program, wrong }, way);
  }
  return found;
}

function wayOf(isPlain: boolean): Way {
  const kill = (pid: number) => here.watch.query('SELECT pg_terminate_backend($1, 5000)', [pid]);
  const way = wayOn(here.url, { isPlain, max: 4 * AT_ONCE, kill });
  here.later(way.close);
  return way;
}

const failOf = (of: string, { program, wrong }: { program: readonly Step[]; wrong: string[] }) =>
  expect.fail(`${COUNTED}: SEED=${SEED}, handler ${of}:\n\n${codeOf(program)}\n${wrong.join('\n')}`);

test.each(['kit’s', 'plain'])(`${HANDLERS} random handlers leave all or nothing on a %s pool`, async (name) => {
  ignoreWarning(/^Calling client\.query\(\) when the client is already executing a query is deprecated/);
  const way = wayOf(name === 'plain');
  const next = random(SEED);
  const kinds = new Map<string, number>();
  for (let n = 0; n < HANDLERS; n += AT_ONCE) {
    const some = Array.from({ length: Math.min(AT_ONCE, HANDLERS - n) }, () => programOf(next));
    for (const [at, wrong] of (await run(some, way, kinds)).entries()) {
      if (wrong.length > 0) failOf(`${n + at}`, await smallest({ program: some[at] as Step[], wrong }, way));
    }
  }
  // Otherwise what is looked at is how everything fails, or how nothing does.
  for (const kind of ['ok', 'internal, false']) expect(kinds.get(kind), kind).toBeGreaterThan(HANDLERS / 5);
  expect(kinds.get('unavailable, unknown'), 'lost with COMMIT').toBeGreaterThan(0);
});

const PROGRAM = { folder: '.data/programs/random-handlers', name: 'random-handlers' };

/** Its machine code would take longer to make than it lives. */
const FOR_A_SHORT_LIFE = ['--no-opt', '--liftoff-only'];

/** A process that runs what it is sent, and is started again where it was killed. */
async function victim() {
  await bundle({ [PROGRAM.name]: 'lib/store/prisma/own-random-handlers.child.ts' }, PROGRAM.folder);
  const file = fileURLToPath(new URL(`../../../${PROGRAM.folder}/${PROGRAM.name}.mjs`, import.meta.url));
  const url = new URL(here.url);
  url.searchParams.set('application_name', PROGRAM.name);
  const start = () => {
    const args = [...FOR_A_SHORT_LIFE, '--no-deprecation', file, url.href, String(KILLED_AT_ONCE)];
    const child = spawn(process.execPath, args, { stdio: ['pipe', 'pipe', 'inherit'] });
    here.later(() => child.kill('SIGKILL'));
    return { child, exit: once(child, 'exit'), lines: createInterface(child.stdout)[Symbol.asyncIterator]() };
  };
  const connections = `SELECT 1 FROM pg_stat_activity WHERE application_name = '${PROGRAM.name}'`;
  let running: ReturnType<typeof start> | undefined;
  return async (order: Order): Promise<Told> => {
    running ??= start();
    const { child, exit, lines } = running;
    child.stdin.write(`${JSON.stringify(order)}\n`);
    const line = await lines.next();
    if (line.done) throw new Error('The process has ended by itself.');
    const told = JSON.parse(line.value) as Told;
    if (!told.isKilled) return told;
    running = undefined;
    expect(await exit).toEqual([null, 'SIGKILL']);
    await until('its connections are gone', async () => (await here.watch.query(connections)).rows.length === 0);
    return told;
  };
}

test(`${HANDLERS} random handlers leave all or nothing on either pool where their process is killed at any moment`, async () => {
  const way = wayOf(false);
  const next = random(SEED);
  const below = (limit: number) => Math.floor(next() * limit);
  const kinds = new Map<string, number>();
  const send = await victim();
  for (let n = 0; n < HANDLERS; n += KILLED_AT_ONCE) {
    const programs = Array.from({ length: KILLED_AT_ONCE }, () => programOf(next));
    const cases = programs.map((program, at) => ({ key: nextKey(), program, isPlain: at % 2 === 1 }));
    const at = (['its answer', 'any', 'COMMIT'] as const)[(n / KILLED_AT_ONCE) % 3] ?? 'any';
    const { all } = await send({ cases, at, times: 1 + below(at === 'any' ? 600 : 4) });
    await here.watch.untilIdle();
    const seen = all.map((one, of) => ({ ...one, program: programs[of] as Step[] }));
    for (const [of, wrong] of (await judge(seen, way.client, kinds)).entries())
      if (wrong.length > 0) failOf(`${n + of} of those in a process`, { program: programs[of] as Step[], wrong });
  }
  // Otherwise none was killed before its end, or none at it.
  for (const isSettled of [true, false])
    expect(kinds.get(`no answer, key row: ${isSettled}`), `settled: ${isSettled}`).toBeGreaterThan(0);
});
