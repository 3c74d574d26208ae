import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, test, vi } from 'vitest';
import { type TestDatabase, testDatabase } from '../../../../scripts/testing/test-database.ts';
import { outside } from '../../../index.ts';
import { anything, freshKey, gate, isAmbient, kit, type Tx } from '../../../integration/kit.fixture.ts';

let database: TestDatabase;
beforeAll(async () => {
  database = await testDatabase();
});
afterAll(() => database?.drop());

let said: ReturnType<typeof vi.spyOn>;
beforeEach(() => {
  vi.stubEnv('NODE_ENV', 'development');
  said = vi.spyOn(console, 'warn').mockReturnValue();
});
afterEach(() => {
  vi.unstubAllEnvs();
  vi.restoreAllMocks();
});

const row = { data: { action: 'past it', tenant: 't', principal: 'p' } };
let names = 0;

/** Runs a handler of an operation that has not been warned of yet, twice, and returns its name and what was said. */
async function run(work: (tx: Tx) => Promise<unknown>) {
  const name = `past-${++names}`;
  const operation = kit(database.client)
    .operation({ name, schema: anything })
    .handler(async ({ tx }) => {
      await work(tx);
    });
  for (const key of [freshKey(), freshKey()]) {
    expect(await operation.execute({ key, payload: {} })).toMatchObject({ ok: true });
  }
  return { name, lines: said.mock.calls.map(([line]: unknown[]) => String(line)) };
}

/** In ambient mode the same statements are within the transaction, so that there is nothing to say. */
const saidOf = (line: string | RegExp) => (isAmbient ? [] : [expect.stringMatching(line)]);

describe('a write through the global client in a handler is said once, with the operation and the fix', () => {
  test.each<[string, string, () => Promise<unknown>]>([
    ['a row', 'INSERT INTO', () => database.client.auditRecord.create(row)],
    ['many', 'DELETE FROM', () => database.client.auditRecord.deleteMany({ where: { action: 'none' } })],
    ['raw SQL', 'UPDATE', () => database.client.$executeRaw`UPDATE audit_records SET action = 'x' WHERE false`],
    [
      'a CTE',
      'DELETE FROM',
      () =>
        database.client.$queryRaw`WITH gone AS (DELETE FROM audit_records WHERE false RETURNING 1) SELECT * FROM gone`,
    ],
    [
      'a transaction of its own',
      'INSERT INTO',
      () => database.client.$transaction((own) => own.auditRecord.create(row)),
    ],
  ])('%s', async (_, command, write) => {
    const { name, lines } = await run(write);
    const words = `In the handler of ${name}, ${command} .*audit_records.*Write \`tx\``;
    expect(lines).toEqual(saidOf(new RegExp(words)));
  });

  test('in a phase, too, and not between the phases', async () => {
    const between = vi.fn();
    const operation = kit(database.client)
      .operation({ name: 'past-phases', schema: anything })
      .phases(async ({ atomic }) => {
        await atomic('first', async (tx) => void (await tx.auditRecord.count()));
        await database.client.auditRecord.create(row);
        between(said.mock.calls.length);
        await atomic('second', async () => void (await database.client.auditRecord.create(row)));
      });
    expect(await operation.execute({ key: freshKey(), payload: {} })).toMatchObject({ ok: true });
    expect(between).toHaveBeenCalledWith(0);
    expect(said.mock.calls.flat()).toEqual(saidOf('In a phase of past-phases, INSERT INTO'));
  });
});

describe('nothing is said', () => {
  test.each<[string, (tx: Tx) => Promise<unknown>]>([
    ['of writes through tx', (tx) => tx.auditRecord.create(row)],
    ['of reads', () => database.client.auditRecord.findMany({ take: 1 })],
    ['of text that names a command', () => database.client.$queryRaw`SELECT 'insert into x' AS update`],
    ['of a write that is meant', () => outside(() => database.client.auditRecord.create(row))],
  ])('%s', async (_, work) => {
    expect((await run(work)).lines).toEqual([]);
  });

  test('of rows that a SELECT locks', async () => {
    const { lines } = await run(
      () =>
        database.client
          .$queryRaw`WITH x AS (SELECT 1 FROM audit_records WHERE false FOR UPDATE SKIP LOCKED) SELECT * FROM x`,
    );
    expect(lines).toEqual([]);
  });

  test('of what a handler has left behind, once its execution has ended', async () => {
    const [ended, written] = [gate(), gate<unknown>()];
    await run(
      async () =>
        void ended.opened.then(() => database.client.auditRecord.create(row)).then(written.open, written.open),
    );
    ended.open();
    await written.opened;
    expect(said).not.toHaveBeenCalled();
  });

  test('in production', async () => {
    vi.stubEnv('NODE_ENV', 'production');
    const secret = 'Vq3-Jt0Lr8_Yd2Wc6Hn1Pz9Xs4Bk7Fe5';
    const operation = kit(database.client, { secret })
      .operation({ name: 'past-production', schema: anything })
      .handler(async () => void (await database.client.auditRecord.create(row)));
    expect(await operation.execute({ key: freshKey(), payload: {} })).toMatchObject({ ok: true });
    expect(said).not.toHaveBeenCalled();
  });
});
