import { expect, test } from 'vitest';
import { expectCounted } from '../../../../scripts/testing/expect-counted.ts';
import { effect, freshKey } from '../../../integration/kit.fixture.ts';
import { ended, execute, stage } from './ambient.fixture.ts';

/** Handlers that end the transaction by SQL of their own: no key without its order, and no order without its key. */

const here = stage();

test.each([
  'BEGIN',
  'start transaction',
  'COMMIT',
  'commit;',
  'END',
  'ROLLBACK',
  'ABORT',
  'COMMIT AND CHAIN',
  "PREPARE TRANSACTION 'x'",
  '  -- now\n/* and\nhere */ Commit work',
])('%j is refused, and the transaction goes on', async (text) => {
  const { client } = here.another({ max: 1 });
  const { key, outcome } = await execute(client, async ({ tx, key }) => {
    await effect(tx, key);
    const error = await ended(tx.$executeRawUnsafe(text));
    await ended(tx.$transaction(async (inner) => void (await inner.$executeRawUnsafe(text))));
    return (error as Error).message;
  });
  expect(outcome).toMatchObject({ ok: true, data: expect.stringContaining('must not end, or begin again') });
  expectCounted(await here.counted(key)).toEqual([1, 1]);
});

test.each(['SAVEPOINT mine', 'ROLLBACK TO SAVEPOINT mine', 'rollback work to mine', 'RELEASE mine'])(
  '%j is sent: the transaction is not ended by it',
  async (text) => {
    const { client } = here.another({ max: 1 });
    const { key, outcome } = await execute(client, async ({ tx, key }) => {
      await tx.$executeRawUnsafe('SAVEPOINT mine');
      await tx.$executeRawUnsafe(text);
      await effect(tx, key);
    });
    expectCounted([outcome.ok, await here.counted(key)]).toEqual([true, [1, 1]]);
  },
);

// Without parameters several statements may come in one text, of which the kit knows the first word alone.
test.each(['SELECT 1; COMMIT', 'SELECT 1; COMMIT; BEGIN', 'SELECT 1; ROLLBACK', 'SELECT 1; ROLLBACK AND CHAIN'])(
  '%j is not recognised: nobody knows what was committed, and no key is written for it',
  async (text) => {
    const { client } = here.another({ max: 1 });
    const key = freshKey();
    const { outcome } = await execute(
      client,
      async ({ tx }) => {
        await effect(tx, key);
        await tx.$executeRawUnsafe(text);
      },
      { key, attempt: 1 },
    );
    expect(outcome).toMatchObject({ code: 'unavailable', executed: 'unknown' });
    expectCounted(await here.counted(key)).toEqual([text.includes('COMMIT') ? 1 : 0, 0]);
    await here.watch.untilIdle();
  },
);
