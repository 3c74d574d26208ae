import { fork } from 'node:child_process';
import { once } from 'node:events';
import { fileURLToPath } from 'node:url';
import { testDatabase } from '../scripts/testing/test-database.ts';
import type { Report } from './report.ts';
import { interleaved, ratio, type Sample } from './rounds.ts';

/** Each in a process of its own: once a process has an async context, it has it for good. */
const CHILD = fileURLToPath(new URL('./contexts-child.ts', import.meta.url));

/**
 * Compares the bare transaction with AsyncLocalStorage in use and without. The kit's transactions need it; every Next server has
 * it anyway, and the floors of all other benchmarks have it, too.
 */
export async function contexts(): Promise<Report> {
  const { url, drop } = await testDatabase();
  const sample = async (how: 'with' | 'without'): Promise<Sample> => {
    const child = fork(CHILD, [how], { env: { ...process.env, DATABASE_URL: url } });
    const [measured] = await once(child, 'message');
    await once(child, 'exit');
    return measured as Sample;
  };
  try {
    const ways = await interleaved({
      floor: () => sample('without'),
      way: () => sample('with'),
      again: () => sample('without'),
    });
    const of = { floor: [ways.floor, ways.again], way: ways.way } as const;
    return {
      name: 'AsyncLocalStorage, ratio to the bare transaction without it',
      rows: [
        ratio({ figure: 'bare transaction, throughput', of: (sample) => sample.perSecond, ...of }),
        ratio({ figure: "bare transaction, Node's CPU", of: (sample) => sample.cpuUs, ...of }),
      ],
    };
  } finally {
    await drop();
  }
}
