import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { type AddressInfo, connect, createServer, type Socket } from 'node:net';
import { text } from 'node:stream/consumers';
import { fileURLToPath } from 'node:url';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { type TestDatabase, testDatabase } from '../../../../scripts/testing/test-database.ts';

let database: TestDatabase;
beforeAll(async () => {
  database = await testDatabase();
});
afterAll(() => database?.drop());

/**
 * Keeps back what the server says to a new client until it is ready, ends that server process, and lets its readiness and
 * its last words arrive together: the pool checks the connection out and hears of its end within one read.
 */
async function killingProxy(kills: number) {
  const target = new URL(database.url);
  let left = kills;
  const server = createServer((client) => {
    const upstream = connect(Number(target.port || 5432), target.hostname);
    for (const socket of [client, upstream]) socket.on('error', () => {});
    client.on('close', () => upstream.destroy());
    client.on('data', (bytes) => upstream.write(bytes));
    if (left-- > 0) killWhenReady(upstream, client);
    else upstream.on('data', (bytes) => client.write(bytes));
  });
  await once(server.listen(0, '127.0.0.1'), 'listening');
  const { port } = server.address() as AddressInfo;
  const url = Object.assign(new URL(database.url), { hostname: '127.0.0.1', port: String(port) }).href;
  return { url, close: () => server.close() };
}

function killWhenReady(upstream: Socket, client: Socket) {
  let kept: Buffer = Buffer.alloc(0);
  let isKilled = false;
  upstream.on('data', (bytes) => {
    kept = Buffer.concat([kept, bytes]);
    const messages = messagesIn(kept);
    // Still greeting: the password is asked for, and what is asked must be answered.
    if (!messages.some(({ type }) => type === 'Z')) {
      if (messages.some(({ type }) => type === 'K')) return;
      client.write(kept);
      kept = Buffer.alloc(0);
      return;
    }
    const pid = messages.find(({ type }) => type === 'K')?.body.readInt32BE(0);
    if (!isKilled) database.client.$queryRaw`SELECT pg_terminate_backend(${pid}::int)`.catch(() => upstream.destroy());
    isKilled = true;
  });
  upstream.on('end', () => client.end(kept));
}

function messagesIn(bytes: Buffer): { type: string; body: Buffer }[] {
  const found: { type: string; body: Buffer }[] = [];
  for (let at = 0; at + 5 <= bytes.length; ) {
    const end = at + 1 + bytes.readUInt32BE(at + 1);
    if (end > bytes.length) break;
    found.push({ type: String.fromCharCode(bytes[at] as number), body: bytes.subarray(at + 5, end) });
    at = end;
  }
  return found;
}

test('a connection whose server process ends while it is checked out fails its query, and the process goes on', async () => {
  const proxy = await killingProxy(3);
  try {
    const file = fileURLToPath(new URL('killed-checkout.child.ts', import.meta.url));
    const child = spawn(process.execPath, ['--import', 'tsx', file, proxy.url, '5']);
    const [said, complaint, [code]] = await Promise.all([text(child.stdout), text(child.stderr), once(child, 'exit')]);
    expect({ said, code, complaint }).toMatchObject({ said: 'lost\nlost\nlost\nanswered\nanswered\n', code: 0 });
  } finally {
    proxy.close();
  }
});
