import { randomUUID } from 'node:crypto';
import { testDatabase } from '../scripts/testing/test-database.ts';
import { createClient } from '../shop/db.ts';
import { countingProxy } from './counting-proxy.ts';
import { bare, obvious, orderOf, plainClient } from './order.ts';
import type { Report } from './report.ts';
import { interleaved, ratio } from './rounds.ts';

/** A round trip to a database in the next zone. */
const LINK_MS = 2;
const OPERATIONS = 30;

/** How long one order takes over a link, one caller: there round trips are all that counts. */
export async function link(): Promise<Report> {
  const { url, drop } = await testDatabase();
  const proxy = await countingProxy(new URL(url), LINK_MS / 2);
  const [client, plain] = [createClient(proxy.url), plainClient(proxy.url)];
  const kit = orderOf(client);
  const measured = (run: () => Promise<unknown>) => async () => {
    const begun = performance.now();
    for (let n = 0; n < OPERATIONS; n++) await run();
    return (performance.now() - begun) / OPERATIONS;
  };
  try {
    const { floor, again, ...ways } = await interleaved({
      floor: measured(() => bare(plain, 0)),
      kit: measured(() => kit({ key: randomUUID(), n: 0 })),
      obvious: measured(() => obvious(plain, 0)),
      again: measured(() => bare(plain, 0)),
    });
    const row = (figure: string, way: number[]) => ratio({ figure, of: (ms) => ms, floor: [floor, again], way });
    return {
      name: `Latency over a link of ${LINK_MS} ms, ratio to the bare transaction`,
      rows: [
        row('first execution', ways.kit),
        row('the obvious one (create key, create order, update key)', ways.obvious),
      ],
    };
  } finally {
    await Promise.all([client.$disconnect(), plain.$disconnect()]);
    await proxy.close();
    await drop();
  }
}
