import { randomUUID } from 'node:crypto';
import { type AddressInfo, connect, createServer, type Socket } from 'node:net';
import { createClient } from '../lib/demo/db.ts';
import { testDatabase } from '../lib/demo/test-database.ts';
import { bare, orderOf, plainClient } from './order.ts';
import type { Report } from './report.ts';

const OPERATIONS = 50;

/** How often one operation waits for the database, counted on the wire. One caller, warm connections. */
export async function flights(): Promise<Report> {
  const { client: direct, url, drop } = await testDatabase();
  const proxy = await countingProxy(new URL(url));
  const [client, plain] = [createClient(proxy.url), plainClient(proxy.url)];
  const finished = Array.from({ length: 3 * OPERATIONS }, () => randomUUID());
  try {
    const elsewhere = orderOf(direct);
    for (const key of finished) await elsewhere({ key, n: 0 });

    const perOperation = async (run: () => Promise<unknown>) => {
      for (let n = 0; n < OPERATIONS; n++) await run(); // opens the connection, prepares the statements
      const before = proxy.flights;
      for (let n = 0; n < OPERATIONS; n++) await run();
      return (proxy.flights - before) / OPERATIONS;
    };
    const [kit, fallback] = [orderOf(client), orderOf(plain)];
    const floor = await perOperation(() => bare(plain, 0));
    const first = await perOperation(() => kit({ key: randomUUID(), n: 0 }));
    const value = (count: number) => count.toFixed(2);
    return {
      name: 'Round trips per operation, counted by a proxy',
      rows: [
        { figure: 'the bare transaction', value: value(floor) },
        { figure: 'first execution, round trips', value: value(first), must: '3.0', met: first <= 3 },
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

/**
 * Stands before a PostgreSQL and counts flights: all that a client sends between two answers on one connection is one,
 * in however many packets and statements it comes.
 */
async function countingProxy(to: URL) {
  let flights = 0;
  const sockets = new Set<Socket>();
  const server = createServer((near) => {
    const far = connect(Number(to.port), to.hostname);
    let answered = true;
    near.on('data', (data) => {
      if (answered) flights++;
      answered = false;
      far.write(data);
    });
    far.on('data', (data) => {
      answered = true;
      near.write(data);
    });
    for (const [one, other] of [
      [near, far],
      [far, near],
    ] as const) {
      sockets.add(one.setNoDelay());
      one.on('error', () => other.destroy()).on('close', () => other.destroy());
    }
  });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  const { port } = server.address() as AddressInfo;
  return {
    url: Object.assign(new URL(to), { hostname: '127.0.0.1', port: String(port) }).href,
    get flights() {
      return flights;
    },
    close: () =>
      new Promise<void>((resolve) => {
        server.close(() => resolve());
        for (const socket of sockets) socket.destroy();
      }),
  };
}
