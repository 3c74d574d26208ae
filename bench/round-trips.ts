import { randomUUID } from 'node:crypto';
import { testDatabase } from '../scripts/testing/test-database.ts';
import { createClient } from '../shop/db.ts';
import { countingProxy } from './counting-proxy.ts';
import { bare, obvious, orderOf, plainClient } from './order.ts';
import type { Report } from './report.ts';

const OPERATIONS = 50;

/** How often one operation waits for the database, counted on the wire. One caller, warm connections. */
export async function roundTrips(): Promise<Report> {
  const { client: direct, url, drop } = await testDatabase();
  const proxy = await countingProxy(new URL(url));
  const [client, plain] = [createClient(proxy.url), plainClient(proxy.url)];
  const finished = Array.from({ length: 3 * OPERATIONS }, () => randomUUID());
  try {
    const elsewhere = orderOf(direct);
    for (const key of finished) await elsewhere({ key, n: 0 });

    const perOperation = async (run: () => Promise<unknown>) => {
      for (let n = 0; n < OPERATIONS; n++) await run(); // opens the connection, prepares the statements
      const before = proxy.roundTrips;
      for (let n = 0; n < OPERATIONS; n++) await run();
      return (proxy.roundTrips - before) / OPERATIONS;
    };
    const [kit, fallback] = [orderOf(client), orderOf(plain)];
    const floor = await perOperation(() => bare(plain, 0));
    const first = await perOperation(() => kit({ key: randomUUID(), n: 0 }));
    const byHand = await perOperation(() => obvious(plain, 0));
    const value = (count: number) => count.toFixed(2);
    return {
      name: 'Round trips per operation, counted by a proxy',
      rows: [
        { figure: 'the bare transaction', value: value(floor) },
        { figure: 'first execution, round trips', value: value(first), must: '3.0', met: first <= 3 },
        { figure: 'the obvious one (create key, create order, update key)', value: value(byHand) },
        {
          figure: 'round trips that it saves beside the obvious one',
          value: value(byHand - first),
          must: '≥ 2',
          met: byHand - first >= 2,
        },
        {
          figure: 'first execution without oncekitPool',
          value: value(await perOperation(() => fallback({ key: randomUUID(), n: 0 }))),
        },
        {
          figure: 'replay, cold, of a call that says it is a retry',
          value: value(await perOperation(() => kit({ key: finished.pop() as string, n: 0, attempt: 2 }))),
        },
      ],
    };
  } finally {
    await Promise.all([client.$disconnect(), plain.$disconnect()]);
    await proxy.close();
    await drop();
  }
}
