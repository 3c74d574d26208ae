/**
 * A process of its own that sends prepared HTTP requests over kept-alive connections, one at a time on each, and tells
 * how long all took. It does no more than it must: on a small machine its work comes out of the server's.
 */
import { connect, type Socket } from 'node:net';

export interface Job {
  port: number;
  connections: number;
  /** Whole requests, head and body. */
  requests: string[];
  status: number;
}

process.on('message', async ({ port, connections, requests, status }: Job) => {
  const sockets = await Promise.all(Array.from({ length: connections }, () => opened(port)));
  const waiting = requests.map((request) => Buffer.from(request));
  const started = performance.now();
  const sender = async (socket: Socket) => {
    for (let request = waiting.pop(); request; request = waiting.pop()) {
      const answer = await answerTo(socket, request);
      if (!answer.startsWith(`HTTP/1.1 ${status}`)) throw new Error(`Unexpected answer:\n${answer.slice(0, 2000)}`);
    }
  };
  await Promise.all(sockets.map(sender));
  process.send?.({ seconds: (performance.now() - started) / 1000 });
  for (const socket of sockets) socket.destroy();
});
process.on('disconnect', () => process.exit());

async function opened(port: number): Promise<Socket> {
  const socket = connect(port, '127.0.0.1').setNoDelay();
  await new Promise((resolve, reject) => socket.once('connect', resolve).once('error', reject));
  return socket;
}

function answerTo(socket: Socket, request: Buffer): Promise<string> {
  return new Promise((resolve, reject) => {
    let answer = '';
    const read = (data: Buffer) => {
      answer += data.toString('latin1');
      if (!isWhole(answer)) return;
      done();
      resolve(answer);
    };
    const fail = () => {
      done();
      reject(new Error(`The connection broke: ${answer}`));
    };
    const done = () => socket.off('data', read).off('close', fail);
    socket.on('data', read).on('close', fail).write(request);
  });
}

function isWhole(answer: string): boolean {
  const head = answer.indexOf('\r\n\r\n');
  if (head === -1) return false;
  const [, length] = /\r\ncontent-length: (\d+)/i.exec(answer.slice(0, head)) ?? [];
  return length === undefined ? answer.endsWith('\r\n0\r\n\r\n') : answer.length >= head + 4 + Number(length);
}
