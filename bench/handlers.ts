import { randomUUID } from 'node:crypto';
import { testDatabase } from '../scripts/testing/test-database.ts';
import { type Business, bare, inTurn, orderOf, orderRow, POOL, plainClient } from './order.ts';
import type { Report, Row } from './report.ts';
import { interleaved, load, ratio } from './rounds.ts';

const OPERATIONS = 600;
/** The orders that ten reads at once ask for. */
const ORDERS = Array.from({ length: 10 }, (_, n) => orderRow(n));

interface Handler {
  name: string;
  business: Business;
  /** What throughput it must reach. */
  atLeast?: number;
}

const HANDLERS: Handler[] = [
  { name: 'one create', business: inTurn(1) },
  { name: '3 queries', business: inTurn(3), atLeast: 1 },
  { name: '10 queries', business: inTurn(10), atLeast: 1.03 },
  { name: '10 findFirst at once', business: readAtOnce((tx, where) => tx.order.findFirst({ where })) },
  // Which Prisma joins into one query in its own transactions.
  { name: '10 findUnique at once', business: readAtOnce((tx, where) => tx.order.findUnique({ where })) },
];

type Reading = (tx: Parameters<Business>[0], where: { id: string }) => PromiseLike<{ id: string } | null>;

function readAtOnce(read: Reading): Business {
  return async (tx) => {
    const [found] = await Promise.all(ORDERS.map(({ id }) => read(tx, { id })));
    if (!found) throw new Error('There is no order to be read.');
    return { id: found.id };
  };
}

/** The same as `first` for handlers of other queries, of which several share the price of their one key. */
export async function handlers(): Promise<Report> {
  const { client, url, drop } = await testDatabase({ max: POOL });
  const plain = plainClient(url);
  await plain.order.createMany({ data: ORDERS });
  try {
    const rows: Row[] = [];
    for (const { name, business, atLeast } of HANDLERS) {
      const kit = orderOf(client, business);
      const floor = (n: number) => bare(plain, n, business);
      const ways = await interleaved({
        floor: () => load(floor, OPERATIONS),
        kit: () => load((n) => kit({ key: randomUUID(), n }), OPERATIONS),
        again: () => load(floor, OPERATIONS),
      });
      const of = { floor: [ways.floor, ways.again], way: ways.kit } as const;
      rows.push(
        ratio({ figure: `${name}, throughput`, of: (s) => s.perSecond, ...of, ...(atLeast && { atLeast }) }),
        ratio({ figure: `${name}, Node's CPU`, of: (s) => s.cpuUs, ...of }),
        ratio({ figure: `${name}, PostgreSQL's CPU`, of: (s) => s.postgresUs, ...of }),
      );
    }
    return { name: 'Handlers of other queries, ratio to the same bare transaction', rows };
  } finally {
    await plain.$disconnect();
    await drop();
  }
}
