import { once } from 'node:events';
import { type AddressInfo, connect, createServer, type Server, type Socket } from 'node:net';
import { setTimeout as sleep } from 'node:timers/promises';

/** Two ends of one connection, and the port that it leads to. */
interface Pair {
  client: Socket;
  server: Socket;
  port: number;
  isSilent: boolean;
}

/**
 * The network between clients and a server that moves: leads to a port, and is told to lead to another. What is open stays
 * where it is.
 */
export class Link {
  readonly #pairs = new Set<Pair>();
  readonly #listener: Server;
  #leadsTo: number | 'silence' | 'nowhere' = 'nowhere';

  private constructor() {
    this.#listener = createServer((client) => this.#accept(client));
  }

  static async open(): Promise<Link> {
    const link = new Link();
    await once(link.#listener.listen(0, '127.0.0.1'), 'listening');
    return link;
  }

  get port(): number {
    return (this.#listener.address() as AddressInfo).port;
  }

  /** Where connections lead that are made from now on. */
  leadTo(port: number): void {
    this.#leadsTo = port;
  }

  /** Nothing arrives any more, in either direction, and nobody is told. So it is with each connection that is made. */
  fallSilent(): void {
    this.#leadsTo = 'silence';
    for (const pair of this.#pairs) pair.isSilent = true;
  }

  /** Breaks every connection, or those to a port, by RST. Refuses new ones until it leads to somewhere. */
  reset(port?: number): void {
    if (port === undefined) this.#leadsTo = 'nowhere';
    for (const pair of this.#pairs) {
      if (port !== undefined && pair.port !== port) continue;
      for (const end of [pair.client, pair.server]) end.resetAndDestroy();
    }
  }

  /** Resolves when so many connections lead to this port, or behind `withinMs`. */
  async untilMetBy(port: number, count: number, withinMs: number): Promise<void> {
    const deadline = performance.now() + withinMs;
    while ([...this.#pairs].filter((pair) => pair.port === port).length < count && performance.now() < deadline) {
      await sleep(5);
    }
  }

  async close(): Promise<void> {
    this.#leadsTo = 'nowhere';
    for (const { client, server } of this.#pairs) for (const end of [client, server]) end.destroy();
    await new Promise((resolve) => this.#listener.close(resolve));
  }

  #accept(client: Socket): void {
    client.on('error', () => {});
    const port = this.#leadsTo;
    if (port === 'nowhere') return void client.resetAndDestroy();
    const isSilent = port === 'silence';
    // In silence it leads to nobody: the listener itself would answer.
    const server = isSilent ? client : connect(port, '127.0.0.1');
    const pair: Pair = { client, server, port: isSilent ? 0 : port, isSilent };
    this.#pairs.add(pair);
    const through = (from: Socket, to: Socket) => {
      from.setNoDelay();
      from.on('error', () => {});
      from.on('data', (bytes) => pair.isSilent || to.write(bytes));
      from.on('close', () => {
        if (!pair.isSilent) to.destroy();
        if (from === client) this.#pairs.delete(pair);
      });
    };
    through(client, server);
    if (!isSilent) through(server, client);
  }
}
