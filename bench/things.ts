import { randomUUID } from 'node:crypto';
import { testDatabase } from '../scripts/testing/test-database.ts';
import { orderOf, POOL } from './order.ts';
import type { Report } from './report.ts';
import { interleaved, load, ratio, type Sample, warmUp } from './rounds.ts';

const OPERATIONS = 3000;

/** The cost of `oncePer`: a first execution for a thing of its own, beside the same one of an operation without it. */
export async function things(): Promise<Report> {
  const { client, drop } = await testDatabase({ max: POOL });
  const [without, once] = [orderOf(client), orderOf(client, undefined, { oncePer: () => randomUUID() })];
  const runs = {
    without: (n: number) => without({ key: randomUUID(), n }),
    once: (n: number) => once({ key: randomUUID(), n }),
  };
  const measured = (way: keyof typeof runs) => () => load(runs[way], OPERATIONS);
  try {
    for (const run of Object.values(runs)) await warmUp(run);
    const samples = await interleaved({
      without: measured('without'),
      once: measured('once'),
      again: measured('without'),
    });
    const row = (figure: string, of: (sample: Sample) => number, atMost?: number) =>
      ratio({ figure, of, floor: [samples.without, samples.again], way: samples.once, atMost });
    return {
      name: 'First execution for a thing (`oncePer`), ratio to one without',
      rows: [
        row('time of an operation', ({ perSecond }) => 1 / perSecond, 1.05),
        row("Node's CPU per operation", ({ cpuUs }) => cpuUs),
        row("PostgreSQL's CPU per operation", ({ postgresUs }) => postgresUs),
      ],
    };
  } finally {
    await drop();
  }
}
