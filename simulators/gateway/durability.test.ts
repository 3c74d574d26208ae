import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { appendFile, mkdtemp, readFile, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { createInterface } from 'node:readline';
import { text } from 'node:stream/consumers';
import type Stripe from 'stripe';
import { afterEach, beforeEach, describe, expect, test } from 'vitest';
import { startGateway } from './server.ts';
import { clientOf } from './testbed.ts';

let folder: string;
let children: ChildProcess[];

beforeEach(async () => {
  folder = await mkdtemp(join(tmpdir(), 'gateway-'));
  children = [];
});

afterEach(async () => {
  for (const child of children) child.kill('SIGKILL');
  await rm(folder, { recursive: true });
});

/** A gateway in a process of its own, as the demo runs it. */
async function life(): Promise<{ stripe: Stripe; url: string; end(signal: NodeJS.Signals): Promise<unknown> }> {
  const env = { ...process.env, GATEWAY_PORT: '0', GATEWAY_DATA: folder, GATEWAY_WEBHOOK_URL: '' };
  const child = spawn(process.execPath, ['--import', 'tsx', 'simulators/gateway/main.ts'], { env });
  children.push(child);
  const [line] = await once(createInterface(child.stdout), 'line');
  const url = /http:\S+?(?=,)/.exec(line)?.[0] ?? '';
  const end = (signal: NodeJS.Signals) => {
    const ended = once(child, 'exit');
    child.kill(signal);
    return ended;
  };
  return { stripe: clientOf(Number(new URL(url).port)), url, end };
}

const sale = { amount: 700, currency: 'usd', payment_method: 'pm_card_visa', confirm: true };
const charge = (stripe: Stripe, key: string) => stripe.paymentIntents.create(sale, { idempotencyKey: key });
const dataFile = () => join(folder, 'ledger.jsonl');

test('what was answered survives a SIGKILL: payments, refunds, events and the answers of keys', async () => {
  const first = await life();
  const intent = await charge(first.stripe, 'k');
  const refund = await first.stripe.refunds.create({ payment_intent: intent.id, amount: 200 });
  const events = await first.stripe.events.list();
  expect(events.data).toHaveLength(3);
  expect(await first.end('SIGKILL')).toEqual([null, 'SIGKILL']);

  const second = await life();
  const replayed = await charge(second.stripe, 'k');
  expect(replayed).toEqual(intent);
  expect(replayed.lastResponse.headers['idempotent-replayed']).toBe('true');
  expect((await second.stripe.refunds.list({ payment_intent: intent.id })).data).toEqual([refund]);
  expect((await second.stripe.events.list()).data).toEqual(events.data);
  await expect(second.stripe.refunds.create({ payment_intent: intent.id, amount: 501 })).rejects.toThrow('$5.00');
  const { charges, refunds } = await (await fetch(`${second.url}/_ledger`)).json();
  expect([charges, refunds]).toMatchObject([[{ idempotency_key: 'k' }], [{ id: refund.id }]]);
  expect(await second.end('SIGTERM')).toEqual([0, null]);
});

test('killed at any moment of many charges, each key has one charge or none, and the same one ever after', {
  tags: 'all',
}, async () => {
  const first = await life();
  const keys = Array.from({ length: 60 }, (_, index) => `k${index}`);
  const answered = new Map<string, string>();
  let killed: Promise<unknown> | undefined;
  const attempts = keys.map(async (key) => {
    const intent = await charge(first.stripe, key);
    answered.set(key, intent.id);
    // Some answered, most of them somewhere on their way.
    if (answered.size === 5) killed = first.end('SIGKILL');
  });
  await Promise.allSettled(attempts);
  await killed;

  const second = await life();
  for (const key of keys) {
    const intent = await charge(second.stripe, key);
    expect(intent.id).toBe(answered.get(key) ?? intent.id);
  }
  const { charges } = await (await fetch(`${second.url}/_ledger`)).json();
  expect(charges.map((each: { idempotency_key: string }) => each.idempotency_key).sort()).toEqual([...keys].sort());
});

test.each([
  [{ GATEWAY_PORT: 'http' }, 'GATEWAY_PORT is "http"'],
  [{ GATEWAY_WEBHOOK_URL: 'http://127.0.0.1:1/', STRIPE_WEBHOOK_SECRET: '' }, 'needs STRIPE_WEBHOOK_SECRET'],
  [{ GATEWAY_KEY_TTL_MS: 'day' }, 'GATEWAY_KEY_TTL_MS is "day"'],
])('does not start with %j, and says why', async (wrong, sentence) => {
  const env = { ...process.env, GATEWAY_PORT: '0', GATEWAY_DATA: folder, ...wrong };
  const child = spawn(process.execPath, ['--import', 'tsx', 'simulators/gateway/main.ts'], { env });
  children.push(child);
  const [said, [code]] = await Promise.all([text(child.stderr), once(child, 'exit')]);
  expect([code, said]).toEqual([1, expect.stringContaining(sentence)]);
  expect(said.trim()).not.toContain('\n');
});

describe('the file', () => {
  const start = () => startGateway({ port: 0, dataFile: dataFile() });

  test('has a charge and the answer of its key in one line', async () => {
    const gateway = await start();
    const { id } = await charge(clientOf(gateway.port), 'k');
    await gateway.close();
    const lines = (await readFile(dataFile(), 'utf8')).trimEnd().split('\n');
    expect(lines).toHaveLength(1);
    const { objects, answer } = JSON.parse(lines[0] ?? '');
    expect(objects.map(({ object }: { object: string }) => object)).toEqual(['charge', 'payment_intent', 'event']);
    expect(JSON.parse(answer.body).id).toBe(id);
  });

  test('loses a torn last line, and nothing else', async () => {
    let gateway = await start();
    const intent = await charge(clientOf(gateway.port), 'k');
    await charge(clientOf(gateway.port), 'torn');
    await gateway.close();
    const bytes = await readFile(dataFile());
    const whole = bytes.indexOf('\n') + 1;
    // Cut where it would still be valid JSON without its newline, and in its middle.
    for (const size of [bytes.length - 1, whole + 100]) {
      await writeFile(dataFile(), bytes.subarray(0, size));
      gateway = await start();
      expect((await readFile(dataFile())).length).toBe(whole);
      const fresh = await charge(clientOf(gateway.port), 'torn');
      expect(fresh.lastResponse.headers['idempotent-replayed']).toBeUndefined();
      await gateway.close();
      gateway = await start();
      expect((await charge(clientOf(gateway.port), 'k')).id).toBe(intent.id);
      expect((await charge(clientOf(gateway.port), 'torn')).id).toBe(fresh.id);
      await gateway.close();
    }
  });

  test('is not guessed at when it is damaged elsewhere', async () => {
    const gateway = await start();
    await gateway.close();
    await appendFile(dataFile(), '{"at":1}\n{"at":\n{"at":3}\n');
    await expect(start()).rejects.toThrow(/^Line 2 of .*ledger\.jsonl is damaged/);
  });

  test('is left alone by a second gateway on the same port', async () => {
    const gateway = await start();
    await appendFile(dataFile(), '{"being written');
    await expect(startGateway({ port: gateway.port, dataFile: dataFile() })).rejects.toThrow('EADDRINUSE');
    expect(await readFile(dataFile(), 'utf8')).toBe('{"being written');
    await gateway.close();
  });
});
