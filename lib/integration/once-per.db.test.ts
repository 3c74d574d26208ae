import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { fileURLToPath } from 'node:url';
import { afterAll, beforeAll, expect, test, vi } from 'vitest';
import { expectCounted } from '../../scripts/testing/expect-counted.ts';
import { type TestDatabase, testDatabase } from '../../scripts/testing/test-database.ts';
import { tier } from '../../scripts/testing/tier.ts';
import { effects, freshKey } from './kit.fixture.ts';
import { crashOperations } from './once-per.fixture.ts';

/** kill -9 of the process that does a thing, at every point of it; then another key comes for the same thing. */

let database: TestDatabase;
beforeAll(async () => {
  database = await testDatabase();
});
afterAll(() => database?.drop());

const FILE = fileURLToPath(new URL('./once-per.child.ts', import.meta.url));

async function killedAt(point: string, way: string, key: string, thing: string): Promise<void> {
  const args = ['--import', 'tsx', FILE, database.url, way, point, key, thing];
  const child = spawn(process.execPath, args, { stdio: ['ignore', 'pipe', 'inherit'] });
  let said = '';
  child.stdout.on('data', (chunk) => {
    said += chunk;
  });
  const [, signal] = await once(child, 'exit');
  expect([signal, said]).toEqual(['SIGKILL', '']);
}

const HANDLER = ['before-claim', 'after-claim', 'after-handler', 'before-commit', 'after-commit'];
const PHASES = [
  'before-claim',
  'after-claim',
  'before-commit begun',
  'after-commit begun',
  'before-started sent',
  'after-started sent',
  'after-answer sent',
  'after-recorded sent',
  'before-commit ended',
  'after-commit ended',
  'before-finish',
  'after-finish',
];

const POINTS = [...HANDLER.map((point) => ['handler', point]), ...PHASES.map((point) => ['phases', point])] as [
  'handler' | 'phases',
  string,
][];
const SHORT = [
  'handler after-handler',
  'handler after-commit',
  'phases after-started sent',
  'phases after-answer sent',
];
// In `npm test` two of each; else the two kinds of transactions take turns at the points, and in `npm run test:crash` each has all.
const turn = process.env.POOL === 'plain' ? 1 : 0;
const isAll = process.env.CRASH_ROUNDS !== undefined;
const turns = POINTS.filter((each, n) => (tier === 'short' ? SHORT.includes(each.join(' ')) : isAll || n % 2 === turn));

test.each(turns)(
  'A6 %s, killed %s: the second key gets one answer, of whichever key did it, and the first key the same',
  async (way, point) => {
    const [one, two] = [freshKey(), freshKey()];
    const thing = `${way} ${point}`;
    await killedAt(point, way, one, thing);
    const { [way]: operation } = crashOperations(database.client);
    let told: Awaited<ReturnType<typeof operation.execute>> | undefined;
    await vi.waitFor(
      async () => {
        told = await operation.execute({ key: two, payload: { thing }, attempt: 2 });
        expect(told).toMatchObject({ ok: true });
      },
      { timeout: 60_000, interval: 50 },
    );
    const row = await database.client.idempotencyKey.findMany({ where: { thing } });
    expect(row).toMatchObject([{ state: 'succeeded', key: told?.key }]);
    // What was committed before the kill is the first key's, and stays that; else nobody knows of it.
    expect(told).toMatchObject({ data: { of: told?.key }, replayed: told?.key === one });
    expect(await operation.execute({ key: one, payload: { thing }, attempt: 2 })).toMatchObject({
      ok: true,
      replayed: true,
      key: told?.key,
    });
    expectCounted(await effects(database.client, thing)).toBe(1);
  },
  120_000,
);
