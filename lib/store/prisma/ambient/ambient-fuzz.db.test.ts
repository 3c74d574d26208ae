import { afterAll, beforeAll, expect, test } from 'vitest';
import { random } from '../../../../e2e/fixtures/random.ts';
import { type TestDatabase, testDatabase } from '../../../../scripts/testing/test-database.ts';
import { SEED, tier } from '../../../../scripts/testing/tier.ts';
import { ignoreWarning } from '../../../../scripts/testing/warnings.ts';
import { type Client, createClient } from '../../../../shop/db.ts';
import { anything, gate, kit, withoutKeys } from '../../../integration/kit.fixture.ts';
import { codeOf, type Program, programOf, smaller } from './ambient-fuzz.fixture.ts';
import { businessRows, type Mode, type Names, namesOf, QUERIES } from './ambient-fuzz-queries.fixture.ts';
import { type Context, perform, plain, worked } from './ambient-fuzz-run.fixture.ts';

/** `npm run test:crash` runs thousands. */
const HANDLERS = Number(process.env.FUZZ_HANDLERS ?? (tier === 'short' ? 50 : 300));
/** Each of them in both modes, all begun in the same tick. */
const AT_ONCE = 10;
const MODES: readonly Mode[] = ['interactive', 'own'];

let database: TestDatabase;
let client: Client;
let operations: ReturnType<typeof operationsOn>;
beforeAll(async () => {
  database = await testDatabase();
  // Half of the time went into finding the lines of code from which thousands of failing queries came.
  client = createClient(database.url, { max: AT_ONCE * MODES.length, errorFormat: 'minimal' } as object);
  operations = operationsOn(client);
});
afterAll(async () => {
  await client?.$disconnect();
  await database?.drop();
});

/** One handler on its way, in one mode. */
interface Execution {
  program: Program;
  names: Names;
  mode: Mode;
  runs: number;
  /** Comes back once all that run beside it have come. */
  meet: () => Promise<void>;
  committed: string[];
}

const executions = new Map<string, Execution>();

/** The operation under which programs of this kind run: one for each mode, on one client for both. */
function operationsOn(bare: Client) {
  const extended = bare.$extends({
    query: {
      $allModels: { $allOperations: async ({ args, query }) => await query(args) },
      receivedEvent: { findUnique: async ({ args, query }) => (await query(args)) ?? null },
    },
    result: { order: { isPending: { needs: { status: true }, compute: ({ status }) => status === 'pending' } } },
  }) as unknown as Client;
  const operations = new Map<string, ReturnType<typeof operationOn>>();
  return (mode: Mode, { isExtended, isolationLevel }: Program) => {
    const name = `${mode} ${isExtended} ${isolationLevel}`;
    const known = operations.get(name) ?? operationOn(isExtended ? extended : bare, mode, isolationLevel);
    operations.set(name, known);
    return known;
  };
}

const operationOn = (on: Client, mode: Mode, isolationLevel: Program['isolationLevel']) =>
  kit(on, mode === 'own' ? {} : { transaction: mode })
    .operation({
      name: 'fuzz',
      schema: anything,
      isolationLevel,
      timeoutMs: 60_000,
      maxWaitMs: 60_000,
      onRefused: async (tx, { key }) => {
        const { program, names } = executionOf(key);
        await perform(program.onRefused, { tx } as Context, names);
      },
    })
    .handler(async (context) => await handle(context, executionOf(context.key)));

const executionOf = (key: string) => executions.get(key) as Execution;

async function handle(context: Context, execution: Execution): Promise<unknown> {
  const { program, names, meet, committed } = execution;
  execution.runs++;
  // What no other can see yet; and then all of them ask for their own in the same tick.
  const data = { id: names.event('first'), type: 'fuzz', aggregate: '', sequence: 1, payload: names.space };
  await context.tx.receivedEvent.create({ data, select: { id: true } });
  await meet();
  const first = await context.tx.receivedEvent.findUnique({
    where: { id: names.event('first') },
    select: { payload: true, sequence: true },
  });
  context.afterCommit(() => void committed.push('after commit'));
  return { first, seen: await perform(program.steps, context, names) };
}

/** A door that opens once all of them have come to it, or are known not to come. */
function meetingOf(count: number) {
  const { open, opened } = gate();
  let missing = count;
  const come = () => {
    if (--missing === 0) open();
  };
  return { come, opened };
}

/** The view of an execution from outside: the first try, and the key sent again. */
interface Observed {
  outcome: string;
  again: string;
  runs: number;
  committed: string[];
  rows: string;
}

let programs = 0;

/** Runs these in all modes at once. */
async function observe(some: readonly Program[]): Promise<Record<Mode, Observed>[]> {
  const meeting = meetingOf(some.length * MODES.length);
  const first = programs;
  programs += some.length;
  const running = some.map((program, n) =>
    MODES.map((mode) => observeOne(program, mode, namesOf(mode, first + n), meeting)),
  );
  const seen = await Promise.all(running.map((modes) => Promise.all(modes)));
  const spaces = some.flatMap((_, n) => MODES.map((mode) => namesOf(mode, first + n).space));
  const rows = await businessRows(client, spaces);
  return seen.map(
    (observed, n) =>
      Object.fromEntries(
        MODES.map((mode, m) => {
          const names = namesOf(mode, first + n);
          return [mode, { ...observed[m], rows: plain(rows.get(names.space), names) }];
        }),
      ) as Record<Mode, Observed>,
  );
}

async function observeOne(
  program: Program,
  mode: Mode,
  names: Names,
  { come, opened }: ReturnType<typeof meetingOf>,
): Promise<Omit<Observed, 'rows'>> {
  const key = names.space;
  let hasCome = false;
  const arrive = () => {
    if (!hasCome) come();
    hasCome = true;
  };
  const meet = async () => {
    arrive();
    await opened;
  };
  const execution: Execution = { program, names, mode, runs: 0, meet, committed: [] };
  executions.set(key, execution);
  const operation = operations(mode, program);
  const outcome = plain(withoutKeys(await operation.execute({ key, payload: {} })), names);
  arrive();
  const isAsked = execution.committed.length > 0 || program.isRunAgain;
  const again = isAsked
    ? plain(withoutKeys(await operation.execute({ key, payload: {}, attempt: 2 })), names)
    : 'not asked';
  executions.delete(key);
  const { runs, committed } = execution;
  return { outcome, again, runs, committed };
}

const differs = ({ interactive, own }: Record<Mode, Observed>) => JSON.stringify(interactive) !== JSON.stringify(own);

interface Difference {
  program: Program;
  observed: Record<Mode, Observed>;
}

/** With everything left out of its program without which there is a difference too, when it runs alone. */
async function smallest(found: Difference): Promise<Difference> {
  for (const program of smaller(found.program)) {
    const [observed] = await observe([program]);
    if (observed && differs(observed)) return await smallest({ program, observed });
  }
  return found;
}

test(`${HANDLERS} random handlers give the same rows and outcomes in own and in plain mode`, async () => {
  // Prisma's interactive transaction gives `pg` the queries of branches at once, and `pg` 8 queues them. The kit's transaction
  // never does: `own-queries` holds that.
  ignoreWarning(/^Calling client\.query\(\) when the client is already executing a query is deprecated/);
  const next = random(SEED);
  const kinds = new Map<string, number>();
  for (let n = 0; n < HANDLERS; n += AT_ONCE) {
    const some = Array.from({ length: Math.min(AT_ONCE, HANDLERS - n) }, () => programOf(next));
    for (const [at, one] of (await observe(some)).entries()) {
      const kind = one.own.outcome.match(/code: '(\w+)'/)?.[1] ?? 'ok';
      kinds.set(kind, (kinds.get(kind) ?? 0) + 1);
      if (!differs(one)) continue;
      const { program, observed } = await smallest({ program: some[at] as Program, observed: one });
      const told = `SEED=${SEED}, handler ${n + at}: in own mode this one differs\n\n${codeOf(program)}\n\n`;
      expect(observed.own, told).toEqual(observed.interactive);
    }
  }
  // Otherwise what is compared is how everything fails.
  expect(kinds.get('ok')).toBeGreaterThan(HANDLERS / 5);
  if (HANDLERS < 300) return;
  expect([...kinds.keys()].toSorted()).toEqual(['already_exists', 'failed', 'internal', 'ok']);
  // Fewer may by chance never do well what seldom does well.
  if (HANDLERS < 1000) return;
  const failing = Object.keys(QUERIES).filter((query) => !worked.has(query as keyof typeof QUERIES));
  expect(failing.toSorted()).toEqual(['createBrokenOrder', 'divide', 'orphan']);
}, 600_000);
