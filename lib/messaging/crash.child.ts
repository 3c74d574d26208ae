/** The process that `crash.db.test.ts` kills: a relay, a consumer of webhooks, or a worker that runs a failed event. Says where it is, and stays there. */
import { once } from 'node:events';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { createClient } from '../../shop/db.ts';
import { createInbox, createOutbox } from './prisma.ts';
import { webhook } from './webhook.ts';

const [role = '', url = '', point = '', destination = '', target = '', secret = ''] = process.argv.slice(2);
const client = createClient(url);
const say = (what: string) => process.stdout.write(`${what}\n`);

/** Stops at the second event, so that one has gone well before. */
let times = 0;
const onPoint = async (at: string) => {
  if (at !== point || ++times < 2) return;
  say('there');
  await new Promise(() => setInterval(() => {}, 1000));
};

if (role === 'relay') {
  const publisher = webhook({ url: target, secrets: [secret] });
  await createOutbox({ prisma: client, destinations: [{ name: destination, publisher }], onPoint }).relayDue();
} else if (role === 'retry') {
  const handle = async (_: unknown, { eventId }: { eventId: string }) => {
    if (!eventId.endsWith('kills')) return;
    say('there');
    await new Promise(() => setInterval(() => {}, 1000));
  };
  await createInbox({ prisma: client, sources: { [destination]: { handle } } }).retryDue();
} else {
  const inbox = createInbox({ prisma: client, onPoint });
  const server = createServer(async (request, response) => {
    const eventId = String(request.headers['webhook-id']);
    let payload = '';
    for await (const chunk of request.setEncoding('utf8')) payload += chunk;
    await inbox.receiveOnce({ source: destination, eventId, payload }, async (tx) => {
      await tx.auditRecord.create({ data: { action: eventId, tenant: 't', principal: 'p' } });
    });
    response.writeHead(204).end();
    if (point === 'answered') response.once('close', () => onPoint('answered'));
  });
  await once(server.listen(0, '127.0.0.1'), 'listening');
  say(String((server.address() as AddressInfo).port));
}
