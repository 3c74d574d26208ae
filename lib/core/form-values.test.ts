import { describe, expect, onTestFinished, test, vi } from 'vitest';
import { z } from 'zod';
import { formValues } from './form-values.ts';
import type { StandardSchema } from './standard-schema.ts';

type Field = [name: string, value: string | File];

const formOf = (...fields: Field[]) => {
  const form = new FormData();
  for (const [name, value] of fields) form.append(name, value);
  return form;
};
const NO_FILE = new File([], '');
/** A schema whose library cannot say what it expects. */
const silent = { '~standard': { version: 1, vendor: 'none', validate: (value) => ({ value }) } } as StandardSchema;
/** A schema of another library, which describes its input so. */
const described = (input: Record<string, unknown>) =>
  ({ '~standard': { ...silent['~standard'], jsonSchema: { input: () => input } } }) as StandardSchema;
const read = (schema: StandardSchema, ...fields: Field[]) => formValues(formOf(...fields), schema).values;

describe('names are paths', () => {
  test.each<[string, Field[], unknown]>([
    [
      'indices in brackets',
      [
        ['lines[0].sku', 'a'],
        ['lines[1].sku', 'b'],
      ],
      { lines: [{ sku: 'a' }, { sku: 'b' }] },
    ],
    [
      'indices between dots',
      [
        ['lines.0.sku', 'a'],
        ['lines.1.sku', 'b'],
      ],
      { lines: [{ sku: 'a' }, { sku: 'b' }] },
    ],
    [
      'both at once',
      [
        ['lines[0].sku', 'a'],
        ['lines.0.note', 'b'],
      ],
      { lines: [{ sku: 'a', note: 'b' }] },
    ],
    [
      'rows in another order',
      [
        ['l[1]', 'b'],
        ['l[0]', 'a'],
        ['l[10]', 'd'],
        ['l[2]', 'c'],
      ],
      { l: ['a', 'b', 'c', 'd'] },
    ],
    [
      'a row that was taken out',
      [
        ['l[0].a', '1'],
        ['l[2].a', '3'],
      ],
      { l: [{ a: '1' }, { a: '3' }] },
    ],
    [
      'objects in objects',
      [
        ['to.street.no', '1'],
        ['to.city', 'X'],
      ],
      { to: { street: { no: '1' }, city: 'X' } },
    ],
    ['a list by its name', [['tags[]', 'a']], { tags: ['a'] }],
    [
      'a name that comes again',
      [
        ['tag', 'a'],
        ['tag', 'b'],
      ],
      { tag: ['a', 'b'] },
    ],
    [
      'a field behind a value',
      [
        ['a', '1'],
        ['a.b', '2'],
        ['a.b.c', '3'],
      ],
      { a: '1', 'a.b': '2', 'a.b.c': '3' },
    ],
    [
      'names that are no paths',
      [
        ['a..b', '1'],
        ['.c', '2'],
        ['d]', '3'],
        ['[e]', '4'],
      ],
      { 'a..b': '1', '.c': '2', 'd]': '3', '[e]': '4' },
    ],
    [
      'numbers alone',
      [
        ['0', 'a'],
        ['1', 'b'],
      ],
      { 0: 'a', 1: 'b' },
    ],
    [
      'the kit’s own fields',
      [
        ['idempotency_key', 'k'],
        ['$ACTION_ID_1', ''],
        ['sku', 'a'],
      ],
      { sku: 'a' },
    ],
    ['nothing', [], {}],
  ])('%s', (_, fields, expected) => {
    expect(read(silent, ...fields)).toEqual(expected);
  });

  test('a name that the schema has is no path', () => {
    const schema = z.object({ 'a.b': z.string(), c: z.object({ d: z.string() }) });
    expect(read(schema, ['a.b', '1'], ['c.d', '2'])).toEqual({ 'a.b': '1', c: { d: '2' } });
  });

  test.each(['__proto__', 'constructor', 'toString', 'hasOwnProperty'])('%s is a name like any other', (name) => {
    const values = read(silent, [`${name}.polluted`, 'yes'], [`lines[0].${name}.polluted`, 'yes']);
    expect(Object.getOwnPropertyDescriptor(values, name)?.value).toEqual({ polluted: 'yes' });
    expect([Object.getPrototypeOf(values), ({} as Record<string, unknown>).polluted]).toEqual([
      Object.prototype,
      undefined,
    ]);
    expect((Object.prototype.toString as unknown as Record<string, unknown>).polluted).toBeUndefined();
  });

  test('an index or a depth beyond any form makes no list of that length and no stack of that depth', () => {
    const deep = `a${'.a'.repeat(100_000)}`;
    expect(read(silent, ['l[999999999]', 'x'], [deep, 'y'])).toEqual({ 'l[999999999]': 'x', [deep]: 'y' });
    expect(read(silent, ['l[999]', 'x'])).toEqual({ l: ['x'] });
  });
});

describe('values fit what the schema expects', () => {
  test.each<[string, z.ZodType, Field[], unknown]>([
    ['a checked box', z.boolean(), [['v', 'on']], true],
    ['an unchecked box', z.boolean(), [], false],
    ['an unchecked box that is optional', z.boolean().optional(), [], false],
    ['an unchecked box whose default is true', z.boolean().default(true), [], false],
    ...(
      [
        ['an unchecked box behind a hidden no', ['0'], false],
        ['a checked box behind a hidden no', ['0', '1'], true],
        ['a checked box before a hidden no', ['true', 'false'], true],
        ['a box whose hidden field is no answer', ['', 'on'], ['', 'on']],
      ] as const
    ).map(([name, sent, value]): [string, z.ZodType, Field[], unknown] => [
      name,
      z.boolean(),
      sent.map((one) => ['v', one]),
      value,
    ]),
    ['a box of another value', z.boolean(), [['v', 'maybe']], 'maybe'],
    ['a box whose value every object has', z.boolean(), [['v', '__proto__']], '__proto__'],
    [
      'several choices',
      z.array(z.string()),
      [
        ['v', 'a'],
        ['v', 'b'],
      ],
      ['a', 'b'],
    ],
    ['one choice', z.array(z.string()), [['v', 'a']], ['a']],
    ['no choice', z.array(z.string()), [], []],
    [
      'choices that are numbers',
      z.array(z.number()),
      [
        ['v', '1'],
        ['v', '2'],
      ],
      [1, 2],
    ],
    [
      'a tuple',
      z.tuple([z.number(), z.string()]),
      [
        ['v[0]', '1'],
        ['v[1]', '2'],
      ],
      [1, '2'],
    ],
    ['a number', z.number(), [['v', ' 12.50 ']], 12.5],
    ['a coerced number', z.coerce.number(), [['v', '3']], 3],
    ['no number', z.number(), [['v', 'twelve']], 'twelve'],
    ['an empty number', z.number(), [['v', '']], ''],
    ['an empty number that is optional', z.number().optional(), [['v', '']], undefined],
    ['an empty number that may be null', z.number().nullable(), [['v', '']], null],
    ['an integer that no number holds', z.number(), [['v', '9007199254740993']], '9007199254740993'],
    ['a bigint', z.bigint(), [['v', '9007199254740993']], 9007199254740993n],
    ['a bigint of as many digits as may be', z.bigint(), [['v', `-${'9'.repeat(300)}`]], 1n - 10n ** 300n],
    ['one of more, which would take seconds', z.bigint(), [['v', '9'.repeat(301)]], '9'.repeat(301)],
    ['a day', z.date(), [['v', '2026-02-28']], new Date('2026-02-28T00:00:00Z')],
    ['a day that is none', z.date(), [['v', '2026-02-30']], '2026-02-30'],
    ['a moment with its offset', z.date(), [['v', '2026-02-28T10:00+01:00']], new Date('2026-02-28T09:00:00Z')],
    ['a time of a zone that nobody has named', z.date(), [['v', '2026-02-28T10:00']], '2026-02-28T10:00'],
    ['a day as text', z.iso.date(), [['v', '2026-02-28']], '2026-02-28'],
    ['an empty text', z.string().optional(), [['v', '']], ''],
    ['an empty address that is optional', z.email().optional(), [['v', '']], undefined],
    ['an empty address', z.email(), [['v', '']], ''],
    ['an empty choice that is optional', z.enum(['a', 'b']).optional(), [['v', '']], undefined],
    ['a file that was not chosen', z.file(), [['v', NO_FILE]], undefined],
    ['files that were not chosen', z.array(z.file()), [['v', NO_FILE]], []],
    ['text or a list, one', z.union([z.string(), z.array(z.string())]), [['v', 'a']], 'a'],
    [
      'text or a list, two',
      z.union([z.string(), z.array(z.string())]),
      [
        ['v', 'a'],
        ['v', 'b'],
      ],
      ['a', 'b'],
    ],
    ['a list that the app reads by itself', z.preprocess(String, z.array(z.string())), [['v', 'a,b']], 'a,b'],
    ['a list behind a transform', z.string().transform((text) => text.split(',')), [['v', 'a,b']], 'a,b'],
    [
      'a record of numbers',
      z.record(z.string(), z.number()),
      [
        ['v.tea', '2'],
        ['v.mug', '3'],
      ],
      { tea: 2, mug: 3 },
    ],
    [
      'boxes of an object, none checked',
      z.object({ mail: z.boolean(), sms: z.boolean() }),
      [],
      { mail: false, sms: false },
    ],
    ['an optional object without a field', z.object({ mail: z.boolean() }).optional(), [], undefined],
    [
      'both parts of an intersection',
      z.object({ a: z.number() }).and(z.object({ b: z.boolean() })),
      [['v.a', '1']],
      { a: 1, b: false },
    ],
  ])('%s', (_, schema, fields, expected) => {
    expect(read(z.object({ v: schema }), ...fields).v).toEqual(expected);
  });

  test('rows of a field array, with numbers and boxes', () => {
    const schema = z.object({ lines: z.array(z.object({ sku: z.string(), quantity: z.number(), gift: z.boolean() })) });
    const values = read(
      schema,
      ['lines.0.sku', 'tea'],
      ['lines.0.quantity', '2'],
      ['lines.0.gift', 'on'],
      ['lines.1.sku', 'mug'],
      ['lines.1.quantity', '1'],
    );
    expect(schema.parse(values)).toEqual({
      lines: [
        { sku: 'tea', quantity: 2, gift: true },
        { sku: 'mug', quantity: 1, gift: false },
      ],
    });
  });

  test('an alternative is told by its constant', () => {
    const card = z.object({ by: z.literal('card'), months: z.number() });
    const schema = z.object({
      pay: z.discriminatedUnion('by', [card, z.object({ by: z.literal('bill'), months: z.string() })]),
    });
    expect(read(schema, ['pay.by', 'card'], ['pay.months', '3'])).toEqual({ pay: { by: 'card', months: 3 } });
    expect(read(schema, ['pay.by', 'bill'], ['pay.months', '3'])).toEqual({ pay: { by: 'bill', months: '3' } });
  });

  test('text or a number stays text: either could be meant', () => {
    expect(read(z.object({ v: z.union([z.number().min(1), z.string()]) }), ['v', '3'])).toEqual({ v: '3' });
  });

  test('a description in parts counts as a whole', () => {
    const a = { properties: { a: { type: 'number' } } };
    const b = { type: 'object', properties: { b: { type: 'boolean' } }, required: ['b'] };
    expect(read(described({ allOf: [a, b] }), ['a', '1'])).toEqual({ a: 1, b: false });
  });

  test('a description that leads back to itself, or that its library cannot give, says nothing', () => {
    const circle = { properties: { v: { $ref: '#/$defs/v' } }, $defs: { v: { $ref: '#/$defs/v' } } };
    expect(read(described(circle), ['v', '1'])).toEqual({ v: '1' });
    const broken = { input: () => expect.unreachable('not representable') };
    expect(read({ '~standard': { ...silent['~standard'], jsonSchema: broken } }, ['v.w', '1'])).toEqual({
      v: { w: '1' },
    });
  });

  test('a schema that refers to itself ends', () => {
    const Node: z.ZodType = z.lazy(() => z.object({ name: z.string(), isOpen: z.boolean(), child: Node }));
    expect(read(z.object({ node: Node }), ['node.name', 'a'])).toHaveProperty('node.child.isOpen', false);
  });

  test('names that come once and again take work that grows with their number', () => {
    const fields = Array.from({ length: 30_000 }, (_, at): Field => ['tag', String(at)]);
    expect(read(z.object({ tag: z.array(z.number()) }), ...fields).tag).toHaveLength(30_000);
  });
});

describe('messages are about the fields of the form', () => {
  const lines = z.object({ lines: z.array(z.object({ sku: z.string().min(1), quantity: z.number() })).min(1) });
  test.each<[string, z.ZodType, Field[], PropertyKey[], string]>([
    ['in dots', lines, [['lines.0.sku', '']], ['lines', 0, 'sku'], 'lines.0.sku'],
    ['in brackets', lines, [['lines[0].sku', '']], ['lines', 0, 'sku'], 'lines[0].sku'],
    ['that was not sent', lines, [['lines[0].sku', '']], ['lines', 0, 'quantity'], 'lines[0].quantity'],
    [
      'of a row behind a gap',
      lines,
      [
        ['lines[0].sku', 'a'],
        ['lines[2].sku', ''],
      ],
      ['lines', 1, 'sku'],
      'lines[2].sku',
    ],
    ['of a row that was not sent', lines, [['lines[0].sku', 'a']], ['lines', 1, 'sku'], 'lines[1].sku'],
    ['of a list', lines, [], ['lines'], 'lines'],
    [
      'with many values',
      z.object({ tags: z.array(z.enum(['a'])) }),
      [
        ['tags', 'x'],
        ['tags', 'y'],
      ],
      ['tags', 1],
      'tags',
    ],
    ['with its brackets', z.object({ tags: z.array(z.enum(['a'])) }), [['tags[]', 'x']], ['tags', 0], 'tags[]'],
    ['of no field', lines, [], [], ''],
  ])('%s', (_, schema, fields, path, expected) => {
    expect(formValues(formOf(...fields), schema).nameOf(path)).toBe(expected);
  });

  test('of a thousand rows, each row is looked at once for all errors', () => {
    const rows = 999;
    const fields = Array.from({ length: rows }, (_, n): Field => [`lines[${n}].sku`, '']);
    const { nameOf } = formValues(formOf(...fields), z.object({ lines: z.array(z.object({})) }));
    nameOf(['lines', 0, 'x']);
    let steps = 0;
    const counted = (name: 'keys' | 'values' | 'entries') => {
      const original = Map.prototype[name];
      vi.spyOn(Map.prototype, name).mockImplementation(function* (this: Map<unknown, unknown>) {
        for (const each of original.call(this)) {
          steps++;
          yield each;
        }
      } as never);
    };
    for (const name of ['keys', 'values', 'entries'] as const) counted(name);
    const sort = vi.spyOn(Array.prototype, 'sort');
    onTestFinished(() => void vi.restoreAllMocks());
    const names = Array.from({ length: rows }, (_, n) => nameOf(['lines', n, 'x']));
    expect(names.at(-1)).toBe('lines[998].x');
    expect([steps, sort.mock.calls.length]).toEqual([0, 0]);
  });
});

describe('F1 one field has one name', () => {
  test.each<[string, string, string]>([
    ['in dots and in brackets', 'a.b', 'a[b]'],
    ['with and without the brackets of a list', 'a', 'a[]'],
    ['deep inside', 'l[0].a[b]', 'l.0.a.b'],
  ])('%s: two are refused, in whatever order', (_, one, other) => {
    for (const names of [
      [one, other],
      [other, one],
    ])
      expect(() => read(silent, ...names.map((name): Field => [name, 'x']))).toThrow(
        expect.objectContaining({
          name: 'BadPayloadError',
          message: expect.stringContaining(`${names[0]} and ${names[1]}`),
        }),
      );
  });

  test('two names of one row are none of one field, nor is one that the schema has', () => {
    const rows: Field[] = [
      ['lines[0].sku', 'a'],
      ['lines.0.qty', '1'],
    ];
    expect(read(silent, ...rows)).toEqual({ lines: [{ sku: 'a', qty: '1' }] });
    const both: Field[] = [
      ['a.b', 'literal'],
      ['a[b]', 'path'],
    ];
    expect(read(z.object({ 'a.b': z.string() }), ...both)).toEqual({ 'a.b': 'literal', a: { b: 'path' } });
  });
});
