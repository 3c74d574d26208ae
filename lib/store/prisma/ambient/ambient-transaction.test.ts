import { expect, test } from 'vitest';
import { TrackedConnection } from '../wire/connection.ts';
import type { ClientLike, PoolLike } from '../wire/driver.ts';
import { QueryQueue } from '../wire/query-queue.ts';
import { AmbientTransaction } from './ambient-transaction.ts';

/** The results of a query of several statements with a transaction, and its part on the wire. */
async function connected() {
  const sent: string[] = [];
  const client = { query: async ({ text }: { text: string }) => void sent.push(text), on: () => {}, release: () => {} };
  const transaction = new AmbientTransaction(
    {},
    {
      pool: {} as PoolLike,
      isolationLevel: 'ReadCommitted',
      connection: TrackedConnection.of(client as unknown as ClientLike),
      queue: new QueryQueue(),
    },
  );
  const connection = await (transaction.connect({ isPrismaQuery: true }, []) as Promise<{
    query(config: { text: string }): Promise<unknown>;
  }>);
  return { sent, connection };
}

test.each(['BEGIN', 'COMMIT', 'ROLLBACK', 'SET TRANSACTION ISOLATION LEVEL SERIALIZABLE'])(
  'Prisma’s own %s is answered, and not sent: the transaction is the execution’s',
  async (text) => {
    const { sent, connection } = await connected();
    expect(await connection.query({ text })).toMatchObject({ command: text });
    expect(sent).toEqual([]);
  },
);

test.each([
  'COMMIT;',
  'commit',
  '/**/ COMMIT',
  'END',
  'BEGIN READ ONLY',
  'START TRANSACTION',
  'ROLLBACK TO SAVEPOINT a',
])('another version’s %s, which would end it or open another one, is refused, and not sent', async (text) => {
  const { sent, connection } = await connected();
  await expect(connection.query({ text })).rejects.toMatchObject({ existing: text, expected: expect.any(String) });
  expect(sent).toEqual([]);
});

test.each([
  'INSERT INTO t VALUES (1)',
  'UPDATE t SET a = 1',
  'SELECT set_config($1, $2, true)',
  'WITH beginning AS (SELECT 1) SELECT 1',
])('the statement %s is sent', async (text) => {
  const { sent, connection } = await connected();
  await connection.query({ text });
  expect(sent).toEqual([text]);
});
