import { randomUUID } from 'node:crypto';
import { testDatabase } from '../scripts/testing/test-database.ts';
import { bare, orderOf, POOL, plainClient } from './order.ts';
import type { Report, Row } from './report.ts';
import { interleaved, load, ratio, warmUp } from './rounds.ts';

const CALLERS = [1, 10, 50];
const OPERATIONS = 1500;

/** A first execution by one caller after the other, by as many as the pool has connections, and by five times as many. */
export async function callers(): Promise<Report> {
  const { client, url, drop } = await testDatabase({ max: POOL });
  const plain = plainClient(url);
  const kit = orderOf(client);
  const [floor, own] = [(n: number) => bare(plain, n), (n: number) => kit({ key: randomUUID(), n })];
  try {
    await warmUp(floor);
    await warmUp(own);
    const rows: Row[] = [];
    for (const count of CALLERS) {
      const ways = await interleaved({
        floor: () => load(floor, OPERATIONS, count),
        kit: () => load(own, OPERATIONS, count),
        again: () => load(floor, OPERATIONS, count),
      });
      const of = { floor: [ways.floor, ways.again], way: ways.kit } as const;
      rows.push(
        ratio({ figure: `${count} at once, throughput`, of: (sample) => sample.perSecond, ...of }),
        ratio({ figure: `${count} at once, Node's CPU`, of: (sample) => sample.cpuUs, ...of }),
        ratio({ figure: `${count} at once, PostgreSQL's CPU`, of: (sample) => sample.postgresUs, ...of }),
      );
    }
    return { name: 'Callers at once, ratio to the bare transaction', rows };
  } finally {
    await plain.$disconnect();
    await drop();
  }
}
