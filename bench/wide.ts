import { randomUUID } from 'node:crypto';
import { createIdempotency } from 'oncekit';
import { testDatabase } from '../scripts/testing/test-database.ts';
import { orderInput, POOL, plainClient, SECRET, who } from './order.ts';
import type { Report } from './report.ts';
import { interleaved, load, ratio, warmUp } from './rounds.ts';

const COLUMNS = 40;
const OPERATIONS = 1000;
const names = Array.from({ length: COLUMNS }, (_, at) => `c${at}`);
const INSERT = `INSERT INTO wide (id, ${names}) VALUES ($1::uuid, ${names.map((_, at) => `$${at + 2}`)}) RETURNING id, ${names}`;

/** A row of forty columns, whose statement is dear to plan: within executions the server keeps it. */
export async function wide(): Promise<Report> {
  const { client, url, drop } = await testDatabase({ max: POOL });
  const plain = plainClient(url);
  await client.$executeRawUnsafe(`CREATE TABLE wide (id uuid PRIMARY KEY, ${names.map((name) => `${name} text`)})`);
  type Asking = { $queryRawUnsafe(text: string, ...values: unknown[]): PromiseLike<unknown> };
  const insert = async (tx: Asking) => {
    const id = randomUUID();
    await tx.$queryRawUnsafe(INSERT, id, ...names);
    return { id };
  };
  const operation = createIdempotency({ prisma: client, secret: SECRET, poolSize: POOL, scope: () => who })
    .operation({ name: 'wide', schema: orderInput })
    .handler(({ tx }) => insert(tx));
  const floor = () => plain.$transaction(insert);
  const kit = async (n: number) => {
    const outcome = await operation.execute({ key: randomUUID(), payload: { n } });
    if (!outcome.ok) throw new Error(`The row was refused: ${outcome.code}`);
  };
  try {
    await warmUp(floor);
    await warmUp(kit);
    const ways = await interleaved({
      floor: () => load(floor, OPERATIONS),
      kit: () => load(kit, OPERATIONS),
      again: () => load(floor, OPERATIONS),
    });
    const of = { floor: [ways.floor, ways.again], way: ways.kit } as const;
    return {
      name: 'A row of forty columns, ratio to the bare transaction',
      rows: [
        ratio({ figure: 'wide row, throughput', of: (sample) => sample.perSecond, ...of }),
        ratio({ figure: "wide row, Node's CPU", of: (sample) => sample.cpuUs, ...of }),
        ratio({ figure: "wide row, PostgreSQL's CPU", of: (sample) => sample.postgresUs, ...of }),
      ],
    };
  } finally {
    await plain.$disconnect();
    await drop();
  }
}
