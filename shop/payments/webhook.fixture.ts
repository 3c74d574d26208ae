import { once } from 'node:events';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { buffer } from 'node:stream/consumers';
import Stripe from 'stripe';
import { until } from '../../scripts/testing/until.ts';

export const SECRET = 'whsec_of_the_tests';

/** A webhook as the gateway has sent it: a test brings it on, as often and when it likes. */
export interface Sent {
  event: Stripe.Event;
  body: string;
  signature: string;
}

/**
 * A real HTTP server between the gateway and the shop. It takes what the gateway sends and keeps it; what `deliver` sends
 * goes to the shop's own handler.
 */
export async function startWebhooks() {
  const sent: Sent[] = [];
  let receive: (request: Request) => Promise<Response>;
  const server = createServer(async (req, res) => {
    const body = await buffer(req);
    const signature = String(req.headers['stripe-signature']);
    if (req.url === '/kept') {
      sent.push({ event: JSON.parse(body.toString()) as Stripe.Event, body: body.toString(), signature });
      return res.writeHead(204).end();
    }
    const headers = new Headers(req.headers['stripe-signature'] ? { 'stripe-signature': signature } : {});
    const request = new Request(`http://shop${req.url}`, { method: 'POST', headers, body: new Uint8Array(body) });
    const answer = await receive(request);
    return res.writeHead(answer.status).end(await answer.text());
  });
  await once(server.listen(0, '127.0.0.1'), 'listening');
  const url = `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
  return {
    webhook: { url: `${url}/kept`, secret: SECRET },
    sent,
    /** The gateway's events about these, by the ids that its events name; once there are so many. */
    async about(ids: readonly string[], count: number): Promise<Sent[]> {
      const found = () => sent.filter(({ body }) => ids.some((id) => body.includes(id)));
      await until(`${count} webhooks came`, async () => found().length >= count);
      return found();
    },
    async deliver({ body, signature }: Pick<Sent, 'body' | 'signature'>) {
      const headers = { 'Stripe-Signature': signature, 'Content-Type': 'application/json' };
      const answer = await fetch(url, { method: 'POST', headers, body });
      return { status: answer.status, text: await answer.text() };
    },
    receiveWith: (handler: typeof receive) => {
      receive = handler;
    },
    close: async () => {
      server.closeAllConnections();
      server.close();
    },
  };
}

/** An event as a webhook, signed as Stripe does it. */
export function signed(event: object, { secret = SECRET, at = Date.now() } = {}): Sent {
  const body = JSON.stringify(event);
  const timestamp = Math.floor(at / 1000);
  const signature = new Stripe('sk_test_x').webhooks.generateTestHeaderString({ payload: body, secret, timestamp });
  return { event: event as Stripe.Event, body, signature };
}
