/** A partner's server as the relay meets it: real HTTP, real signatures, an inbox of its own, and every way to be broken. */
import { once } from 'node:events';
import { createServer, type IncomingMessage, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import type { Client } from '../../shop/db.ts';
import { effect } from '../integration/kit.fixture.ts';
import { createInbox } from './prisma.ts';
import { verifyWebhook } from './webhook.ts';

export const SECRET = `whsec_${Buffer.alloc(32, 7).toString('base64')}`;

/** A request of the relay's that has come whole, and what the partner can do about it. */
export interface Call {
  aggregate: string;
  sequence: number;
  response: ServerResponse;
  /** Lets the event take effect, once. */
  take(): Promise<void>;
}

export type Fault = (call: Call) => void | Promise<void>;

export const well: Fault = async ({ take, response }) => {
  await take();
  response.writeHead(204).end();
};

/** Answers so, and has done nothing about the event. */
const status =
  (code: number, headers: Record<string, string> = {}, body = 'a secret of theirs'): Fault =>
  ({ response }) =>
    void response.writeHead(code, headers).end(body);

/** Says these bytes in place of an answer, and hangs up. */
const bytes =
  (text: string): Fault =>
  ({ response }) =>
    void response.socket?.end(text);

const HUGE = 'x'.repeat(2_000_000);

export const FAULTS = {
  'answers 500': status(500),
  'answers 503 with Retry-After': status(503, { 'retry-after': '120' }),
  'answers 410': status(410),
  // The redirect leads to a server that takes everything.
  'redirects to elsewhere': status(307, { location: '/elsewhere' }),
  'answers 500 with two megabytes': status(500, {}, HUGE),
  'never answers': () => {},
  'hangs up': ({ response }: Call) => void response.destroy(),
  'takes the event and hangs up': async ({ take, response }: Call) => {
    await take();
    response.destroy();
  },
  'speaks no HTTP': bytes('no HTTP at all\r\n\r\n'),
  'breaks off in its headers': bytes('HTTP/1.1 200 OK\r\nContent-Type: text/pl'),
  'answers 500 in broken chunks': bytes('HTTP/1.1 500 No\r\nTransfer-Encoding: chunked\r\n\r\nFFFF\r\nshort\r\nzz\r\n'),
} satisfies Record<string, Fault>;

/** Takes the event, says 2xx, and then goes on in some odd way. */
export const ODD = {
  'answers 200 with two megabytes': async ({ take, response }: Call) => {
    await take();
    response.writeHead(200).end(HUGE);
  },
  'answers 200 in broken chunks': async ({ take, response }: Call) => {
    await take();
    response.socket?.end('HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n5\r\nshort\r\nzz\r\n');
  },
  'answers 200 and never ends': async ({ take, response }: Call) => {
    await take();
    response.writeHead(200).write('so far');
  },
} satisfies Record<string, Fault>;

/** Starts it. `faultFor` says how it is broken, and for which calls; undefined: it is well. */
export async function startPartner(client: Client, source: string) {
  const inbox = createInbox({ prisma: client });
  const calls: { id: string; aggregate: string; sequence: number }[] = [];
  const unexpected: (string | undefined)[] = [];
  const partner = {
    calls,
    /** The other paths that were called. */
    unexpected,
    faultFor: (_call: Call): Fault | undefined => undefined,
    /** `sequence` of the events of one aggregate, in the order in which they came first. */
    firstArrivals: (aggregate: string) => [
      ...new Set(calls.filter((one) => one.aggregate === aggregate).map(({ sequence }) => sequence)),
    ],
    /** How often an event came. */
    times: (id: string) => calls.filter((one) => one.id === id).length,
    url: '',
    up: async () => {
      if (!server.listening) await once(server.listen(port, '127.0.0.1'), 'listening');
    },
    /** Its port is closed, and nobody is there. */
    down: async () => {
      server.closeAllConnections();
      if (server.listening) await new Promise((resolve) => server.close(resolve));
    },
  };
  const answer = async (request: IncomingMessage, response: ServerResponse) => {
    if (request.url !== '/hook') {
      unexpected.push(request.url);
      return void response.writeHead(204).end();
    }
    let body = '';
    for await (const chunk of request.setEncoding('utf8')) body += chunk;
    const { id } = verifyWebhook(body, request.headers as Record<string, string>, [SECRET]);
    const { aggregate, sequence } = JSON.parse(body) as Call;
    calls.push({ id, aggregate, sequence });
    const take = async () => {
      const received = await inbox.receiveOnce({ source, eventId: id, payload: body }, (tx) => effect(tx, id));
      if (received.kind !== 'processed' && received.kind !== 'replayed') throw new Error(received.kind);
    };
    const call: Call = { aggregate, sequence, response, take };
    await (partner.faultFor(call) ?? well)(call);
  };
  const server = createServer((request, response) => {
    // An effect that it cannot have is an error, and the test sees that it was not expected.
    answer(request, response).catch((error) => response.writeHead(418, { 'x-error': String(error) }).end());
  });
  let port = 0;
  await partner.up();
  port = (server.address() as AddressInfo).port;
  partner.url = `http://127.0.0.1:${port}/hook`;
  return partner;
}
