import { expect, test, vi } from 'vitest';
import { random } from '../../../e2e/fixtures/random.ts';
import { COUNTED } from '../../../scripts/testing/effects-mark.ts';
import { SEED, tier } from '../../../scripts/testing/tier.ts';
import { ignoreWarning } from '../../../scripts/testing/warnings.ts';
import { type Client, createClient } from '../../../shop/db.ts';
import { effect, gate } from '../../integration/kit.fixture.ts';
import { type Context, execute, stage } from './ambient/ambient.fixture.ts';
import { COUNT, codeOf, programOf, type Step, smaller } from './own-random-handlers.fixture.ts';
import { faultsOf, handle, type Running, type Way } from './own-random-handlers-run.fixture.ts';

/** Random handlers leave all or nothing, and the answer says which: on the kit's pool, and in transactions of Prisma's. */

/** `npm run test:crash` runs thousands. */
const HANDLERS = Number(process.env.FUZZ_HANDLERS ?? (tier === 'short' ? 100 : 1000));
const AT_ONCE = 8;
const PATIENT = { timeoutMs: 60_000, maxWaitMs: 60_000 };

const here = stage();

let programs = 0;

/** Runs these at once, each with a key of its own, and sends each key again. @returns what was wrong with each */
async function run(some: readonly (readonly Step[])[], way: Way, kinds?: Map<string, number>): Promise<string[][]> {
  const behind = gate();
  const all = await Promise.all(
    some.map(async (program) => {
      const key = `random-${++programs}`;
      const running: Running = { key, way, notes: [], runs: 0, behind: behind.opened, loose: [] };
      const { outcome } = await execute(way.client, (context) => handle(context, program, running), {
        key,
        ...PATIENT,
      });
      return { running, outcome };
    }),
  );
  behind.open();
  await Promise.all(all.flatMap(({ running }) => running.loose));
  await here.watch.untilIdle();
  const keys = all.map(({ running }) => running.key);
  const before = await countAll(keys);
  const again = await Promise.all(keys.map((key) => sendAgain(way.client, key)));
  const after = await countAll(keys);
  return all.map(({ running, outcome }, n) => {
    const { key } = running;
    const executed = outcome.ok ? true : outcome.executed;
    const kind = outcome.ok ? 'ok' : `${outcome.code}, ${executed}`;
    kinds?.set(kind, (kinds.get(kind) ?? 0) + 1);
    const isSettled = before.keys.has(key);
    const wrong: string[] = [];
    if (executed !== 'unknown' && executed !== isSettled) wrong.push(`executed: ${executed}, key row: ${isSettled}`);
    for (const note of running.notes) {
      const told = `${note.step.by}.${note.step.write}(${note.name}), ${note.step.how}`;
      for (const fault of faultsOf(note, running, { executed, isSettled, rows: before.rows.get(note.name) ?? 0 })) {
        wrong.push(`${told}: ${fault}`);
      }
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

function wayOf(name: string): Way {
  if (name === 'plain') vi.stubEnv('POOL', 'plain');
  // Half of the time would go into finding the lines of code from which failing queries came.
  const make = () => createClient(here.url, { max: 4 * AT_ONCE, errorFormat: 'minimal' } as object);
  const kill = (pid: number) => here.watch.query('SELECT pg_terminate_backend($1, 5000)', [pid]);
  const way = { isPlain: name === 'plain', client: make(), other: make(), kill };
  vi.unstubAllEnvs();
  here.later(() => Promise.all([way.client.$disconnect(), way.other.$disconnect()]));
  return way;
}

test.each(['kit’s', 'plain'])(`${HANDLERS} random handlers leave all or nothing on a %s pool`, async (name) => {
  ignoreWarning(/^Calling client\.query\(\) when the client is already executing a query is deprecated/);
  const way = wayOf(name);
  const next = random(SEED);
  const kinds = new Map<string, number>();
  for (let n = 0; n < HANDLERS; n += AT_ONCE) {
    const some = Array.from({ length: Math.min(AT_ONCE, HANDLERS - n) }, () => programOf(next));
    for (const [at, wrong] of (await run(some, way, kinds)).entries()) {
      if (wrong.length === 0) continue;
      const found = await smallest({ program: some[at] as Step[], wrong }, way);
      expect.fail(
        `${COUNTED}: SEED=${SEED}, handler ${n + at}:\n\n${codeOf(found.program)}\n${found.wrong.join('\n')}`,
      );
    }
  }
  // Otherwise what is looked at is how everything fails, or how nothing does.
  for (const kind of ['ok', 'internal, false']) expect(kinds.get(kind), kind).toBeGreaterThan(HANDLERS / 5);
});
