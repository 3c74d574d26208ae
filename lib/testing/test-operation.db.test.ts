import { afterAll, beforeAll, describe, expect, test, vi } from 'vitest';
import { z } from 'zod';
import { type TestDatabase, testDatabase } from '../../scripts/testing/test-database.ts';
import { keyOfIssued, uuidV7 } from '../core/issued-key.ts';
import { type Outcome, type Refusal, refuse } from '../core/outcome.ts';
import { effects, freshKey, gate, kit, effect as writeEffect } from '../integration/kit.fixture.ts';
import { serverAction, statusRoute } from '../next/index.ts';
import { serveStatus, testOperation } from './browser.ts';

/**
 * The same steps against an operation on a real database and against the one in memory: both must say the same, or
 * the tests of forms would show what no server does.
 */
interface Side {
  submit(form: FormData): Promise<Outcome<unknown>>;
  ask(method: 'GET' | 'DELETE', key: string, operation?: string): Promise<Response>;
  /** The next attempt stops while it runs. */
  hold(): { reached: Promise<void>; release(): void };
  /** A key past its window. */
  oldKey(): string;
  effects(key: string): Promise<number>;
}

let database: TestDatabase;
const log = vi.spyOn(console, 'error').mockImplementation(() => {});
beforeAll(async () => {
  database = await testDatabase();
});
afterAll(async () => {
  await database?.drop();
  log.mockRestore();
});

const REDIRECT = { digest: 'NEXT_REDIRECT;push;/thanks;307;' };
const schema = z.looseObject({ note: z.string().max(9, 'Too long.') });

/** The effect of either handler, as the note tells it. */
function perform(note: FormDataEntryValue | null, attempt: number): unknown {
  if (note === 'redirect') throw Object.assign(new Error(), REDIRECT);
  if (note === 'hidden') throw Object.assign(new Error(), { digest: 'NEXT_HTTP_ERROR_FALLBACK;404' });
  if (note === 'weak' && attempt === 1) throw new Error('not now');
  return { id: 7, at: new Date(0), lines: new Map([['tea', 1n]]) };
}

function realSide(): Side {
  const attempts = new Map<string, number>();
  let held: Record<'reached' | 'end', ReturnType<typeof gate<void>>> | undefined;
  const operation = kit(database.client, { waitMs: 0 })
    .operation({ name: 'checkout', schema, volatile: ['stamp'] })
    .handler(async ({ input: { note }, key, tx, fail }): Promise<unknown> => {
      attempts.set(key, (attempts.get(key) ?? 0) + 1);
      await writeEffect(tx, key);
      const stop = held;
      held = undefined;
      stop?.reached.open();
      await stop?.end.opened;
      if (note === 'refuse') fail('sold_out', { left: 0 }, { message: 'Sold out.' });
      return perform(note, attempts.get(key) ?? 1);
    });
  const action = serverAction(operation);
  const route = statusRoute([operation]);
  return {
    submit: (form) => action(null, form),
    ask(method, key, name = 'checkout') {
      const url = `http://localhost/api/idempotency/${name}/${encodeURIComponent(key)}`;
      return route[method](new Request(url, { method }));
    },
    hold() {
      held = { reached: gate(), end: gate() };
      return { reached: held.reached.opened, release: held.end.open };
    },
    oldKey: () => {
      const now = vi.spyOn(Date, 'now').mockReturnValue(Date.now() - 30 * 3_600_000);
      const key = uuidV7(Date.now());
      now.mockRestore();
      return key;
    },
    effects: (key) => effects(database.client, key),
  };
}

function testSide(): Side {
  const attempts = new Map<string, number>();
  const orders = testOperation<unknown>('checkout', {
    retryAfterMs: 1000,
    volatile: ['stamp'],
    run(form, { key }) {
      const note = form.get('note');
      if (note === 'refuse') {
        return refuse('failed', { executed: true, reason: 'sold_out', message: 'Sold out.', data: { left: 0 } });
      }
      if (String(note).length > 9)
        return refuse('validation', { executed: false, fieldErrors: { note: ['Too long.'] } });
      attempts.set(key, (attempts.get(key) ?? 0) + 1);
      return perform(note, attempts.get(key) ?? 1);
    },
  });
  return {
    submit: (form) => orders.action(null, form),
    async ask(method, key, name = 'checkout') {
      const stop = serveStatus([orders]);
      const response = await fetch(`/api/idempotency/${name}/${encodeURIComponent(key)}`, { method });
      stop();
      return response;
    },
    hold: () => orders.hold(),
    oldKey() {
      const key = keyOfIssued(orders.issueKey());
      orders.expire(key);
      return key;
    },
    effects: async (wanted) => orders.effects.filter((one) => one.key === wanted).length,
  };
}

function formOf(key: string | undefined, fields: Record<string, string | File>, attempt = 1): FormData {
  const form = new FormData();
  for (const [name, value] of Object.entries(fields)) form.append(name, value);
  if (key !== undefined) form.set('idempotency_key', key);
  if (attempt > 1) form.set('idempotency_attempt', String(attempt));
  return form;
}

const isKnown = (key: string | undefined) => typeof key === 'string' && key !== '';

/** An outcome without what differs from call to call, but with whether it is there. */
function told(outcome: Outcome<unknown>): object {
  const { key, nextKey, ...rest } = outcome;
  const data = (rest as Refusal).data as { first?: Outcome<unknown> } | undefined;
  const first = data?.first && { data: { first: told(data.first) } };
  return { ...rest, ...first, key: isKnown(key), nextKey: isKnown(nextKey) };
}

/** The steps of one story, as it is told by either side. */
function teller({ submit, ask, effects, ...side }: Side) {
  const said: unknown[] = [];
  return {
    ...side,
    said,
    async submit(...args: Parameters<typeof formOf>) {
      const answer = await submit(formOf(...args)).then(told, (thrown) => ({ thrown: thrown.digest ?? thrown }));
      said.push(answer);
    },
    async ask(method: 'GET' | 'DELETE', key: string, operation?: string) {
      const response = await ask(method, key, operation);
      const { code, state, outcome, redirect, settledAt, retryAfterMs, nextKey } = await response.json();
      const answer = outcome && told(outcome);
      said.push({
        status: response.status,
        code,
        state,
        outcome: answer,
        redirect,
        isEndDated: !Number.isNaN(Date.parse(settledAt)),
        retryAfterMs,
        next: isKnown(nextKey),
      });
    },
    async count(key: string) {
      said.push({ effects: await effects(key) });
    },
  };
}

type Story = (side: ReturnType<typeof teller>) => Promise<void>;

async function both(story: Story): Promise<unknown[]> {
  const [real, inMemory] = [teller(realSide()), teller(testSide())];
  await story(real);
  await story(inMemory);
  expect(inMemory.said).toEqual(real.said);
  return real.said;
}

describe('the test operation says what a server says', () => {
  test('of a success, its replay, other values, and a fence that comes too late', async () => {
    const said = await both(async ({ submit, ask, count }) => {
      const key = freshKey();
      await submit(key, { note: 'a', more: 'b' });
      await submit(key, { more: 'b', note: 'a' }, 2);
      await submit(key, { note: 'other' });
      await ask('GET', key);
      await ask('DELETE', key);
      await count(key);
    });
    expect(said.map((one) => Object.values(one as object)[0])).toEqual([true, true, false, 200, 409, 1]);
  });

  test('of fields that change by themselves, under a key with names behind it', async () => {
    const said = await both(async ({ submit, count }) => {
      const key = uuidV7(Date.now());
      await submit(`${key} stamp`, { note: 'a', 'stamp.at': '1', _csrf: 'a' });
      await submit(key, { note: 'a', 'stamp.at': '2', _csrf: 'b' }, 2);
      await submit(key, { note: 'other', 'stamp.at': '2' });
      await submit('a key', { note: 'a' });
      await count(key);
    });
    expect(said.map((one) => Object.values(one as object)[0])).toEqual([true, true, false, false, 1]);
  });

  test('of a stored refusal, which also keeps the key', () =>
    both(async ({ submit, ask }) => {
      const key = freshKey();
      await submit(key, { note: 'refuse' });
      await submit(key, { note: 'refuse' }, 2);
      await submit(key, { note: 'other' });
      await ask('GET', key);
    }));

  test('of what was turned away or thrown, which leaves the key usable', () =>
    both(async ({ submit, ask, count }) => {
      const key = freshKey();
      await submit(key, { note: 'longer than that' });
      await submit(key, { note: 'longer than that' }, 2);
      await submit(key, { note: 'weak' }, 3);
      await ask('GET', key);
      await submit(key, { note: 'weak' }, 4);
      await submit(freshKey(), { note: 'weak' });
      await submit(freshKey(), { note: 'hidden' });
      await count(key);
    }));

  test('of a fence: the key never runs', () =>
    both(async ({ submit, ask, count }) => {
      const key = freshKey();
      await ask('GET', key);
      await ask('DELETE', key);
      await ask('DELETE', key);
      await submit(key, { note: 'late' });
      await ask('GET', key);
      await count(key);
    }));

  test('of a key that is running', () =>
    both(async ({ submit, ask, hold, count }) => {
      const key = freshKey();
      const { reached, release } = hold();
      const running = submit(key, { note: 'a' });
      await reached;
      await submit(key, { note: 'a' }, 2);
      await submit(key, { note: 'other' });
      await ask('GET', key);
      await ask('DELETE', key);
      release();
      await running;
      await count(key);
    }));

  test('of a redirect, which is a success', () =>
    both(async ({ submit, ask, count }) => {
      const key = freshKey();
      await submit(key, { note: 'redirect' });
      await submit(key, { note: 'redirect' }, 2);
      await ask('GET', key);
      await count(key);
    }));

  test('of keys that are none, too old, or of an operation that is not there', () =>
    both(async ({ submit, ask, oldKey }) => {
      await submit(undefined, { note: 'a' });
      await submit('two words', { note: 'a' });
      const old = oldKey();
      await submit(old, { note: 'a' });
      await ask('GET', old);
      await ask('DELETE', old);
      await ask('GET', 'two words');
      await ask('GET', freshKey(), 'refund');
    }));

  test('of forms that mean the same, and of a file with another content', () =>
    both(async ({ submit }) => {
      const [key, file] = [freshKey(), (text: string) => new File([text], 'a.txt', { type: 'text/plain' })];
      await submit(key, { note: 'a\r\nb', file: file('x') });
      await submit(key, { file: file('x'), note: 'a\nb' }, 2);
      await submit(key, { note: 'a\nb', file: file('y') }, 3);
    }));
});
