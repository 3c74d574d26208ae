import { type AddressInfo, connect, createServer, type Socket } from 'node:net';
import { type WireCounts, wireReader } from './wire.ts';

/**
 * Stands before a PostgreSQL and counts round trips: all that a client sends between two answers on one connection is one,
 * in however many packets and statements it comes. Statements and transactions are counted, too.
 *
 * @param delayMs how long each direction takes, as on a link
 */
export async function countingProxy(to: URL, delayMs = 0) {
  let roundTrips = 0;
  const counts: WireCounts = { statements: [], transactions: 0 };
  const sockets = new Set<Socket>();
  const later = (send: () => void) => void (delayMs > 0 ? setTimeout(send, delayMs) : send());
  const server = createServer((near) => {
    const far = connect(Number(to.port), to.hostname);
    let answered = true;
    const { fromClient, fromServer } = wireReader(counts);
    near.on('data', (data) => {
      if (answered) roundTrips++;
      answered = false;
      fromClient(data);
      later(() => far.write(data));
    });
    far.on('data', (data) => {
      answered = true;
      fromServer(data);
      later(() => near.write(data));
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
    get roundTrips() {
      return roundTrips;
    },
    /** Of all connections together. */
    counts: counts as Readonly<WireCounts>,
    close: () =>
      new Promise<void>((resolve) => {
        server.close(() => resolve());
        for (const socket of sockets) socket.destroy();
      }),
  };
}
