import { randomUUID } from 'node:crypto';
import { testDatabase } from '../scripts/testing/test-database.ts';
import { bare, orderOf, POOL, plainClient } from './order.ts';
import type { Report, Row } from './report.ts';
import { interleaved, load, ratio } from './rounds.ts';

/** How many queries, and what throughput they must reach. */
const HANDLERS = [
  [3, 1],
  [10, 1.03],
] as const;
const OPERATIONS = 600;

/** The same as `first` for handlers of several queries, which share the price of their one key. */
export async function handlers(): Promise<Report> {
  const { client, url, drop } = await testDatabase({ max: POOL });
  const plain = plainClient(url);
  try {
    const rows: Row[] = [];
    for (const [queries, atLeast] of HANDLERS) {
      const kit = orderOf(client, undefined, queries);
      const floor = (n: number) => bare(plain, n, queries);
      const ways = await interleaved({
        floor: () => load(floor, OPERATIONS),
        kit: () => load((n) => kit({ key: randomUUID(), n }), OPERATIONS),
        again: () => load(floor, OPERATIONS),
      });
      const of = { floor: [ways.floor, ways.again] } as const;
      const named = (what: string) => `${queries} queries, ${what}`;
      rows.push(
        ratio({ figure: named('throughput'), of: (s) => s.perSecond, ...of, way: ways.kit, atLeast }),
        ratio({ figure: named("Node's CPU"), of: (s) => s.cpuUs, ...of, way: ways.kit }),
      );
    }
    return { name: 'Handlers of several queries, ratio to the same bare transaction', rows };
  } finally {
    await plain.$disconnect();
    await drop();
  }
}
