import { randomUUID } from 'node:crypto';
import { testDatabase } from '../scripts/testing/test-database.ts';
import { createClient } from '../shop/db.ts';
import { orderOf, POOL } from './order.ts';
import { median, type Report } from './report.ts';
import { interleaved, ratio } from './rounds.ts';

const CALLS = 50;
const KEYS = 100;

/** A burst of one key: how long until all of 50 calls are answered, beside the one execution that they cause. */
export async function sameKey(): Promise<Report> {
  const { client, url, drop } = await testDatabase({ max: POOL });
  const elsewhere = createClient(url, { max: POOL });
  try {
    const [here, there] = [orderOf(client), orderOf(elsewhere)];
    const one = () => timed((key) => here({ key, n: 0 }));
    const samples = await interleaved({
      floor: one,
      burst: () => timed((key) => Promise.all(Array.from({ length: CALLS }, () => here({ key, n: 0 })))),
      again: one,
      two: () =>
        timed((key) => Promise.all(Array.from({ length: CALLS }, (_, n) => (n % 2 ? here : there)({ key, n: 0 })))),
    });
    const floor = [samples.floor, samples.again] as const;
    const of = (ms: number) => ms;
    return {
      name: `${CALLS} calls of one key at once, time until all are answered, ratio to one execution`,
      rows: [
        ratio({ figure: 'same-key burst in one process', of, floor, way: samples.burst, atMost: 2 }),
        ratio({ figure: 'spread over two instances, each with a pool', of, floor, way: samples.two }),
        { figure: 'one execution alone, in ms', value: median(floor.flat()).toFixed(2) },
      ],
    };
  } finally {
    await elsewhere.$disconnect();
    await drop();
  }
}

/** The median over many keys, in milliseconds: one burst is too short to be judged alone. */
async function timed(run: (key: string) => Promise<unknown>): Promise<number> {
  const ms: number[] = [];
  for (let n = 0; n < KEYS; n++) {
    const key = randomUUID();
    const started = performance.now();
    await run(key);
    ms.push(performance.now() - started);
  }
  return median(ms);
}
