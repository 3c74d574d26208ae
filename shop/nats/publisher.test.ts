/** @module-tag nats */
import { jetstreamManager } from '@nats-io/jetstream';
import { connect, headers, type NatsConnection } from '@nats-io/transport-node';
import type { Attempt, OutgoingEvent, PublishError } from 'oncekit/messaging';
import { afterAll, beforeAll, describe, expect, onTestFinished, test } from 'vitest';
import { type Nats, startNats } from '../../scripts/services/nats.ts';
import { streamedEvent } from './message.ts';
import { type NatsOptions, natsPublisher } from './publisher.ts';

let nats: Nats;
let admin: NatsConnection;
beforeAll(async () => {
  nats = await startNats();
  admin = await connect({ servers: nats.url });
});
afterAll(async () => {
  await admin?.close();
  await nats?.close();
});

let names = 0;
/** A stream of its own for a test, and a publisher to it. `opened` counts the connections. */
function subject({ url = nats.url, user = {} as { user?: string; pass?: string } } = {}) {
  const name = `s${++names}`;
  const opened: NatsConnection[] = [];
  const open: NatsOptions['connect'] = async (settings) => {
    const connection = await connect({ servers: url, ...user, ...settings });
    opened.push(connection);
    return connection;
  };
  const publisher = natsPublisher({ connect: open, subject: name });
  onTestFinished(() => publisher.close?.());
  return {
    name,
    opened,
    publisher,
    create: async (config = {}) =>
      await (await jetstreamManager(admin)).streams.add({ name, subjects: [`${name}.>`], ...config }),
    stored: async () => {
      const { streams } = await jetstreamManager(admin);
      const { state } = await streams.info(name);
      const all = Array.from({ length: state.last_seq }, (_, n) => streams.getMessage(name, { seq: n + 1 }));
      return (await Promise.all(all)).flatMap((message) => message ?? []);
    },
  };
}

let events = 0;
function event(more: Partial<OutgoingEvent> = {}): OutgoingEvent {
  const sequence = ++events;
  return {
    id: `id-${sequence}`,
    type: 'order.paid',
    aggregate: 'order:1',
    sequence,
    payload: JSON.stringify({ n: sequence }),
    headers: { traceparent: '00-1-2-01' },
    derivedKey: `key-${sequence}`,
    createdAt: new Date('2026-11-21T19:00:00.000Z'),
    ...more,
  };
}

const attempt = (ms = 5000): Attempt => ({ signal: AbortSignal.timeout(ms), deadlineMs: ms, attempt: 1 });

/** From here on the server says nothing, until it is thawed or the test ends. */
async function frozen(): Promise<void> {
  onTestFinished(() => nats.thaw());
  await nats.freeze();
}

/** The error of a failed attempt. */
async function failure(sending: Promise<void>): Promise<PublishError> {
  const error = await sending.then(
    () => undefined,
    (thrown) => thrown,
  );
  expect(error).toMatchObject({ name: 'PublishError' });
  return error;
}

test('what arrives says which event it is, whatever its aggregate is called', async () => {
  const { publisher, create, stored, name } = subject();
  await create();
  const sent = event({ aggregate: 'Bestellung 7 ü%\r\nNats-Msg-Id: forged' });
  await publisher.publish(sent, attempt());
  const [message] = await stored();
  const { headers: own, ...expected } = sent;
  expect(message?.subject).toBe(`${name}.order.paid`);
  expect(message?.header.get('traceparent')).toBe(own.traceparent);
  expect(message?.header.get('Nats-Msg-Id')).toBe(sent.id);
  expect(streamedEvent({ headers: message?.header, string: () => message?.string() ?? '' })).toEqual(expected);
  expect(streamedEvent({ headers: headers(), string: () => '{}' })).toBeUndefined();
});

test('a repetition is delivered, and the stream keeps one', async () => {
  const { publisher, create, stored } = subject();
  await create();
  const [one, two] = [event(), event()];
  for (const each of [one, one, two, one]) await publisher.publish(each, attempt());
  expect((await stored()).map(({ header }) => header.get('event-id'))).toEqual([one.id, two.id]);
});

test('one connection, opened late, for all that come at once', async () => {
  const { publisher, create, stored, opened } = subject();
  await create();
  expect(opened).toHaveLength(0);
  await Promise.all(Array.from({ length: 30 }, () => publisher.publish(event(), attempt())));
  expect(opened).toHaveLength(1);
  expect(await stored()).toHaveLength(30);
});

test('without a stream it says what to do, and goes on once there is one', async () => {
  const { publisher, create, stored, name } = subject();
  const { message, next } = await failure(publisher.publish(event(), attempt()));
  expect(message).toContain(`No stream takes the subject ${name}.order.paid. Create one`);
  expect(next).toBe('retry');
  await create();
  await publisher.publish(event(), attempt());
  expect(await stored()).toHaveLength(1);
});

describe('given up on at once', () => {
  test.each([
    ['larger than the server takes', { payload: JSON.stringify('x'.repeat(1_100_000)) }, 'the server takes'],
    ['larger than the stream takes', { payload: JSON.stringify('x'.repeat(9000)) }, 'the stream takes'],
    ['of a type that is no subject', { type: 'order..paid' }, 'no subject'],
  ])('%s', async (_, more, words) => {
    const { publisher, create, stored } = subject();
    await create({ max_msg_size: 8000 });
    const { message, next } = await failure(publisher.publish(event(more), attempt()));
    expect(message).toContain(words);
    expect(message).not.toContain('xx');
    expect(next).toBe('give-up');
    expect(await stored()).toHaveLength(0);
  });
});

test.each(['{"ok":true}', '{"stream":""}', 'null', 'pong'])(
  'what is not stored is not delivered: somebody else answers at the subject, %s',
  async (answer) => {
    const { publisher, name } = subject();
    const other = admin.subscribe(`${name}.>`, { callback: (_, message) => void message.respond(answer) });
    await admin.flush();
    expect((await failure(publisher.publish(event(), attempt()))).message).toContain('is no stream');
    other.unsubscribe();
  },
);

test('no subject for the prefix is refused at once', () => {
  for (const wrong of ['', 'a b', 'a..b', 'a.>', '*'])
    expect(() => natsPublisher({ connect, subject: wrong })).toThrow(/subject/);
});

test('a frozen server: each attempt ends in time, what comes late is the same event, and the order holds', async () => {
  const { publisher, create, stored } = subject();
  await create();
  const [one, two] = [event(), event()];
  await publisher.publish(event(), attempt());
  await frozen();
  const { message } = await failure(publisher.publish(one, { ...attempt(200), deadlineMs: 60_000 }));
  nats.thaw();
  expect(message).toBe('No acknowledgement in time.');
  for (const each of [one, two, one]) await publisher.publish(each, attempt());
  expect((await stored()).slice(1).map(({ header }) => header.get('event-id'))).toEqual([one.id, two.id]);
});

test('a killed server fails what is under way at once, and gets the next event when it is back', async () => {
  const { publisher, create, stored, opened } = subject();
  await create();
  const [before, under] = [event(), event()];
  await publisher.publish(before, attempt());
  await frozen();
  const sending = failure(publisher.publish(under, attempt(60_000)));
  await admin.close();
  await nats.kill();
  expect((await sending).message).toContain('connection to NATS broke');
  expect((await failure(publisher.publish(under, attempt()))).message).toContain('ECONNREFUSED');
  await nats.start();
  admin = await connect({ servers: nats.url });
  // The stream is there again, and so is what it knows of ids.
  for (const each of [before, under]) await publisher.publish(each, attempt());
  expect((await stored()).map(({ header }) => header.get('event-id'))).toEqual([before.id, under.id]);
  expect(opened).toHaveLength(2);
});

test('neither a refused password nor an address shows in an error', async () => {
  const guarded = await startNats({ args: ['--user', 'shop', '--pass', 'hunter2'] });
  onTestFinished(() => guarded.close());
  const host = new URL(guarded.url).host;
  const known = subject({ url: guarded.url, user: { user: 'shop', pass: 'hunter2' } });
  expect((await failure(known.publisher.publish(event(), attempt()))).message).toContain('No stream takes');
  const refused = subject({ url: `nats://shop:s3cret@${host}`, user: { user: 'shop', pass: 's3cret' } });
  const error = await failure(refused.publisher.publish(event(), attempt()));
  expect(error.message).toBe('No connection to NATS: AuthorizationError.');
  const wrong = subject({ url: 'nats://shop:s3cret@[', user: {} });
  for (const each of [error, await failure(wrong.publisher.publish(event(), attempt()))]) {
    expect(`${each.message} ${each.stack} ${JSON.stringify(each)} ${each.cause}`).not.toMatch(/s3cret|shop:/);
  }
});

test('close waits for what is under way; a later event opens another connection', async () => {
  const { publisher, create, stored, opened } = subject();
  await create();
  const sending = Promise.all(Array.from({ length: 20 }, () => publisher.publish(event(), attempt())));
  await publisher.close?.();
  await sending;
  expect(opened.map((connection) => connection.isClosed())).toEqual([true]);
  await publisher.publish(event(), attempt());
  expect(opened).toHaveLength(2);
  expect(await stored()).toHaveLength(21);
  await publisher.close?.();
  await publisher.close?.();
});

test('close does not wait for a server that says nothing any more', async () => {
  const { publisher, create, opened } = subject();
  await create();
  await publisher.publish(event(), attempt());
  await frozen();
  await publisher.close?.();
  nats.thaw();
  expect(opened[0]?.isClosed()).toBe(true);
});
