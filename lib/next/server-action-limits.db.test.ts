import { afterAll, beforeAll, describe, expect, test, vi } from 'vitest';
import { type TestDatabase, testDatabase } from '../../scripts/testing/test-database.ts';
import { MAX_BODY_BYTES, MAX_FIELDS } from '../core/payload-limits.ts';
import type { StandardSchema } from '../core/standard-schema.ts';
import { anything, effect, effects, freshKey, kit, rowsOf } from '../integration/kit.fixture.ts';
import { routeHandler, serverAction } from './index.ts';

let database: TestDatabase;
beforeAll(async () => {
  database = await testDatabase();
});
afterAll(() => database?.drop());

/** An action, what its schema and its fingerprint were given, and a form with its key. */
function checkout() {
  const key = freshKey();
  const fingerprint = vi.fn((payload: unknown) => payload);
  const operation = kit(database.client)
    .operation({ name: 'checkout', schema: anything, fingerprint })
    .handler(async ({ tx, input }) => {
      await effect(tx, key);
      return Object.entries(input).map(([name, value]) => [name, [value].flat().length]);
    });
  const form = new FormData();
  form.append('idempotency_key', key);
  const left = async () => [await effects(database.client, key), (await rowsOf(database.client, key)).length];
  return { key, form, action: serverAction(operation), fingerprint, left };
}

describe('X4 a form that Next has parsed', () => {
  test('as many fields as there may be, of one name, are one value each', async () => {
    const { form, action } = checkout();
    for (let at = 1; at < MAX_FIELDS; at++) form.append('tag', String(at));
    const outcome = await action(null, form);
    expect(outcome).toMatchObject({ ok: true, data: [['tag', MAX_FIELDS - 1]] });
  });

  test('one field more is refused by its limit, and nobody has looked at it', async () => {
    const { key, form, action, fingerprint, left } = checkout();
    for (let at = 0; at < MAX_FIELDS; at++) form.append(`name${at}`, '');
    const message = 'The form has too many fields: at most 1000 can be sent at once.';
    const outcome = await action(null, form);
    expect(outcome).toMatchObject({ ok: false, code: 'malformed_body', message, retry: 'never', key });
    expect(outcome).not.toHaveProperty('values');
    expect(fingerprint).not.toHaveBeenCalled();
    expect(await left()).toEqual([0, 0]);
  });

  test('so is more text than a route would read, wherever in the form it is', async () => {
    for (const [name, value] of [
      ['note', 'x'.repeat(MAX_BODY_BYTES)],
      ['ü'.repeat(MAX_BODY_BYTES / 2), ''],
    ] as const) {
      const { form, action, left } = checkout();
      form.append(name, value);
      expect(await action(null, form)).toMatchObject({ ok: false, code: 'payload_too_large' });
      expect(await left()).toEqual([0, 0]);
    }
  });

  test('a file counts as a field, and is as large as Next lets it be', async () => {
    const { form, action, left } = checkout();
    form.append('picture', new File([new Uint8Array(MAX_BODY_BYTES + 1)], 'a.png'));
    expect(await action(null, form)).toMatchObject({ ok: true, data: [['picture', 1]] });
    expect(await left()).toEqual([1, 1]);
    const many = checkout();
    for (let at = 0; at < MAX_FIELDS; at++) many.form.append('picture', new File([], `${at}.png`));
    expect(await many.action(null, many.form)).toMatchObject({ ok: false, code: 'malformed_body' });
  });

  test('without a key as well, nothing of it comes back', async () => {
    const { form, action } = checkout();
    form.delete('idempotency_key');
    for (let at = 0; at <= MAX_FIELDS; at++) form.append('tag', 'x');
    const outcome = await action(null, form);
    expect(outcome).toMatchObject({ ok: false, code: 'key_missing' });
    expect(outcome).not.toHaveProperty('values');
  });
});

describe('X4 what code calls an action with', () => {
  // React hands over one text, or one object, for as many references to it as were sent.
  const text = 'x'.repeat(100_000);
  const leaf = Array.from({ length: 100 }, () => 1);
  test.each<[string, unknown]>([
    ['one text, referred to 1000 times', Array.from({ length: 1000 }, () => text)],
    ['one object, referred to 1001 times', Array.from({ length: 1001 }, () => leaf)],
    ['a map of it', new Map(Array.from({ length: 1000 }, (_, at) => [at, text]))],
    ['names of it', Array.from({ length: 1000 }, () => ({ [text]: 1 }))],
    ['a set in a set, 200 deep', Array.from({ length: 200 }).reduce((inner) => new Set([inner]), 1)],
  ])('%s is refused before it is written out', async (_, input) => {
    const { key, action, left } = checkout();
    expect(await action({ input }, { key })).toMatchObject({ ok: false, code: 'malformed_body', executed: 'unknown' });
    expect(await left()).toEqual([0, 0]);
  });
});

describe('X4 rows and values', () => {
  /** An operation of lines, as an action of one JSON field and as a route; and how often its schema was asked. */
  function lines(options: { maxItems?: number } = {}) {
    const asked = vi.fn((value: { lines: unknown[] }) => ({ value }));
    const schema = { '~standard': { version: 1, vendor: 'test', validate: asked } } as unknown as StandardSchema<{
      lines: unknown[];
    }>;
    const operation = kit(database.client)
      .operation({ name: 'import', schema, acceptKeys: 'any', ...options })
      .handler(async ({ input }) => input.lines.length);
    const action = serverAction(operation, { input: (form) => JSON.parse(String(form.get('json'))) });
    const POST = routeHandler(operation);
    const posted = (sent: unknown) => {
      const headers = { 'Content-Type': 'application/json', 'Idempotency-Key': `"${freshKey()}"` };
      return POST(new Request('https://shop.test/api/import', { method: 'POST', headers, body: JSON.stringify(sent) }));
    };
    const submitted = (sent: unknown) => {
      const form = new FormData();
      form.append('idempotency_key', freshKey());
      form.append('json', JSON.stringify(sent));
      return action(null, form);
    };
    return { asked, posted, submitted };
  }
  const rows = (length: number, each: unknown = {}) => ({ lines: Array.from({ length }, () => each) });

  test.each<[string, unknown, string]>([
    ['99,000 rows', rows(99_000), 'A list has too many items: at most 1000 can be sent at once.'],
    ['rows of rows', rows(101, rows(99)), 'There are too many values: at most 10000 can be sent at once.'],
    [
      '__proto__',
      JSON.parse('{"lines":[{"__proto__":{"a":1}}]}'),
      'The name __proto__ cannot be used for what is sent.',
    ],
  ])('%s: no schema is asked, of a body or of what `input` returns, and both hear why', async (_, sent, message) => {
    const { asked, posted, submitted } = lines();
    const refused = await posted(sent);
    expect([refused.status, ((await refused.json()) as { code: string }).code]).toEqual([400, 'malformed_body']);
    expect(await submitted(sent)).toMatchObject({ ok: false, code: 'malformed_body', message });
    expect(asked).not.toHaveBeenCalled();
  });

  test('a row decides, whatever the limit is by now: a retry across a deploy gets its answer', async () => {
    const key = freshKey();
    const handler = vi.fn(async () => 'imported');
    const operation = (maxItems: number) =>
      kit(database.client)
        .operation({ name: 'deployed', schema: anything, acceptKeys: 'any', maxItems })
        .handler(handler);
    const call = { key, payload: rows(2000) };
    expect(await operation(2000).execute(call)).toMatchObject({ ok: true, replayed: false });
    const retry = await operation(1000).execute({ ...call, attempt: 2 });
    expect(retry).toMatchObject({ ok: true, replayed: true, data: 'imported' });
    expect(await operation(1000).execute({ ...call, key: freshKey() })).toMatchObject({ code: 'malformed_body' });
    expect(handler).toHaveBeenCalledOnce();
  });

  test('as many values as may be are taken, and one more is not', async () => {
    const { posted } = lines();
    const nested = { lines: [...rows(10, Array(990).fill(1)).lines, ...Array(89).fill(1)] };
    expect((await posted(nested)).status).toBe(200);
    expect((await posted({ ...nested, one: 'more' })).status).toBe(400);
  });

  test('an operation that imports says how many', async () => {
    const { posted, submitted } = lines({ maxItems: 2000 });
    expect((await posted(rows(2000))).status).toBe(200);
    expect(await submitted(rows(2000))).toMatchObject({ ok: true, data: 2000 });
    expect((await posted(rows(2001))).status).toBe(400);
  });
});
