import { once } from 'node:events';
import { type AddressInfo, connect, createServer, type Socket } from 'node:net';

export type Direction = 'to the server' | 'to the client';

/** PgBouncer's words to its client when its own connection to the server has died: word for word an answer of a server. */
export const SERVER_CRASHED = errorResponse('SFATAL', 'VFATAL', 'C08P01', 'Mserver conn crashed?');

function errorResponse(...fields: string[]): Buffer {
  const body = Buffer.from(`${fields.map((field) => `${field}\0`).join('')}\0`);
  const head = Buffer.from('E\0\0\0\0');
  head.writeInt32BE(body.length + 4, 1);
  return Buffer.concat([head, body]);
}

/**
 * Stands between client and server, and cuts the connection at a message of the protocol: so many go through in that
 * direction, the next one does not. Whole messages, so that every state in which a connection can be lost is met, and the
 * same one each time.
 */
export async function cuttingProxy(databaseUrl: string) {
  const target = new URL(databaseUrl);
  const sockets = new Set<Socket>();
  let cut: { direction: Direction; after: number; words?: Buffer | undefined } | undefined;
  let wasCut = false;

  const server = createServer((client) => {
    const upstream = connect(Number(target.port || 5432), target.hostname);
    for (const socket of [client, upstream]) {
      sockets.add(socket.on('error', () => {}));
      socket.setNoDelay(); // message by message: each would wait for the acknowledgement of the one before
      socket.on('close', () => [client, upstream].forEach((end) => void end.destroy()));
    }
    // What goes through before it is armed is not looked at: by then a connection is through with its greetings.
    const through = (from: Socket, to: Socket, direction: Direction) => {
      let rest: Buffer = Buffer.alloc(0);
      from.on('data', (bytes) => {
        // Once only: whoever connects anew greets first, in messages of another shape.
        if (wasCut || cut?.direction !== direction) return void to.write(bytes);
        rest = Buffer.concat([rest, bytes]);
        while (rest.length >= 5 && rest.length > rest.readUInt32BE(1)) {
          const length = 1 + rest.readUInt32BE(1);
          if (cut.after-- === 0) {
            wasCut = true;
            // `end`, not `destroy`: what was let through before arrives.
            to.end(cut.words ?? '', () => from.destroy());
            return;
          }
          to.write(rest.subarray(0, length));
          rest = rest.subarray(length);
        }
      });
    };
    through(client, upstream, 'to the server');
    through(upstream, client, 'to the client');
  });
  await once(server.listen(0, '127.0.0.1'), 'listening');
  const { port } = server.address() as AddressInfo;
  return {
    url: Object.assign(new URL(databaseUrl), { hostname: '127.0.0.1', port: String(port) }).href,
    /** Cuts, once, behind this many messages from now on. `words`: what is said instead of the next one. */
    cutAfter: (after: number, direction: Direction, words?: Buffer) => {
      cut = { direction, after, words };
      wasCut = false;
    },
    /** Tells whether it came to that. Lets everything through again. */
    disarm: () => {
      cut = undefined;
      return wasCut;
    },
    close: () => {
      for (const socket of sockets) socket.destroy();
      server.close();
    },
  };
}
