import { once } from 'node:events';
import { type AddressInfo, connect, createServer, type Socket } from 'node:net';

/** ReadyForQuery, outside of a transaction. */
const READY = Buffer.from([0x5a, 0, 0, 0, 5, 0x49]);

/**
 * Stands between client and server, and can fall silent as a network does: nothing goes through any more, and nobody is
 * told. What the client sends is taken, so that its machine does not notice either, and its goodbye is not answered.
 */
export async function silentProxy(databaseUrl: string) {
  const target = new URL(databaseUrl);
  const sockets = new Set<Socket>();
  /** Connections made before this number say nothing any more. */
  let silentBefore = 0;
  let made = 0;
  let isDark = false;
  let isMuting = false;

  const server = createServer({ allowHalfOpen: true }, (client) => {
    const number = isDark ? -1 : made++;
    const upstream = connect(Number(target.port || 5432), target.hostname);
    for (const socket of [client, upstream]) sockets.add(socket.on('error', () => {}));
    const isMute = isMuting;
    let isReady = false;
    const isSilent = () => number < silentBefore || isReady;
    const through = (from: Socket, to: Socket) => {
      from.on('data', (bytes) => void (isSilent() || to.write(bytes)));
      from.on('end', () => void (isSilent() || from.end()));
      from.on('close', () => void (isSilent() || to.destroy()));
    };
    through(client, upstream);
    through(upstream, client);
    if (isMute) upstream.on('data', (bytes) => (isReady ||= bytes.includes(READY)));
  });
  await once(server.listen(0, '127.0.0.1'), 'listening');
  const { port } = server.address() as AddressInfo;
  return {
    url: Object.assign(new URL(databaseUrl), { hostname: '127.0.0.1', port: String(port) }).href,
    /** All connections that there are. Those that are made from now on go through. */
    silence: () => {
      silentBefore = made;
    },
    /** Those that are made while this is on are silent, too. */
    darken: (on: boolean) => {
      isDark = on;
    },
    /** Those that are made while this is on fall silent as soon as the server has let them in. */
    mute: (on: boolean) => {
      isMuting = on;
    },
    close: () => {
      for (const socket of sockets) socket.destroy();
      server.close();
    },
  };
}
