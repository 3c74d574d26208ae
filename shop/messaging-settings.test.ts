import { expect, test } from 'vitest';
import { messagingComplaints } from './messaging-settings.ts';

const url = 'https://partner.example/events';
const secret = `whsec_${Buffer.alloc(32, 1).toString('base64')}`;

test.each([
  ['nothing', {}],
  ['an address and its secret', { EVENTS_WEBHOOK_URL: url, EVENTS_WEBHOOK_SECRET: secret }],
  ['two secrets, while they rotate', { EVENTS_WEBHOOK_URL: url, EVENTS_WEBHOOK_SECRET: `${secret}, ${secret}` }],
  ['a stream', { NATS_URL: 'nats://127.0.0.1:4222' }],
])('%s: the shop may start', (_, env) => {
  expect(messagingComplaints(env)).toEqual([]);
});

test.each([
  ['no address', { EVENTS_WEBHOOK_URL: 'partner' }, 'is no address'],
  ['no secret', { EVENTS_WEBHOOK_URL: url }, 'No webhook secret'],
  ['a secret that can be guessed', { EVENTS_WEBHOOK_URL: url, EVENTS_WEBHOOK_SECRET: 'whsec_short' }, 'openssl rand'],
  [
    'a password in the address',
    { EVENTS_WEBHOOK_URL: 'https://a:b@c.example', EVENTS_WEBHOOK_SECRET: secret },
    'password',
  ],
  ['a stream elsewhere than NATS', { NATS_URL: 'ws://127.0.0.1' }, 'NATS_URL is no address'],
])('%s: a sentence that says so, and no order ever meets it', (_, env, words) => {
  expect(messagingComplaints(env)).toEqual([expect.stringContaining(words)]);
});
