import { describe, expect, onTestFinished, test, vi } from 'vitest';
import { MAX_BODY_BYTES, MAX_FIELDS } from '../core/payload-limits.ts';
import { readBody, readBytes } from './read-body.ts';

type Body = BodyInit | Uint8Array | null;

function requestOf(body: Body, headers: Record<string, string> = { 'Content-Type': 'application/json' }): Request {
  const streamed = body instanceof ReadableStream ? { duplex: 'half' } : {};
  return new Request('https://shop.test/', {
    method: 'POST',
    body: body as BodyInit,
    headers,
    ...streamed,
  } as RequestInit);
}

const json = (charset: string) => ({ 'Content-Type': `application/json; charset=${charset}` });

describe('X4 a body that can be read', () => {
  test.each<[string, Body, Record<string, string> | undefined, unknown]>([
    ['JSON', '{"a":"ü"}', undefined, { a: 'ü' }],
    ['JSON with a byte order mark', '\ufeff{"a":1}', undefined, { a: 1 }],
    ['JSON with its charset', '{"a":1}', json('UTF-8'), { a: 1 }],
    ['JSON with another name of that charset', '{"a":1}', json('UTF8'), { a: 1 }],
    ['JSON with the character that stands for broken ones', '{"a":"\ufffd"}', undefined, { a: '\ufffd' }],
    ['JSON with its charset in quotes', '{"a":1}', json('"utf-8"'), { a: 1 }],
    [
      'JSON with what is no parameter',
      '{"a":1}',
      { 'Content-Type': 'application/json; charset; profile="a,b"' },
      { a: 1 },
    ],
    ['JSON of another name', '{"a":1}', { 'Content-Type': 'application/vnd.shop+json' }, { a: 1 }],
    ['nothing', null, {}, null],
    ['nothing, of some type', '', { 'Content-Type': 'text/plain' }, null],
  ])('%s', async (_, body, headers, value) => {
    expect(await readBody(requestOf(body, headers))).toEqual(value);
  });

  test.each([
    [
      'urlencoded',
      () =>
        new URLSearchParams([
          ['a', '1'],
          ['a', 'ü\ufffd'],
        ]),
    ],
    [
      'multipart',
      () => {
        const form = new FormData();
        for (const value of ['1', 'ü\ufffd']) form.append('a', value);
        return form;
      },
    ],
  ])('a form: %s', async (_, make) => {
    const form = await readBody(new Request('https://shop.test/', { method: 'POST', body: make() }));
    expect((form as FormData).getAll('a')).toEqual(['1', 'ü\ufffd']);
  });
});

const FORM = { 'Content-Type': 'application/x-www-form-urlencoded' };
const MULTIPART = { 'Content-Type': 'Multipart/Form-Data; Boundary="x y"' };

function multipart(fields: number): string {
  return `${'--x y\r\nContent-Disposition: form-data; name="a"\r\n\r\n1\r\n'.repeat(fields)}--x y--\r\n`;
}

describe('X4 the fields of a form', () => {
  test.each([
    ['urlencoded', FORM, (fields: number) => Array.from({ length: fields }, () => 'a=1').join('&')],
    ['multipart', MULTIPART, multipart],
  ])('%s: as many as there may be are read, and one more is refused by its limit', async (_, headers, make) => {
    const form = (await readBody(requestOf(make(MAX_FIELDS), headers))) as FormData;
    expect(form.getAll('a')).toHaveLength(MAX_FIELDS);
    await expect(readBody(requestOf(make(MAX_FIELDS + 1), headers))).rejects.toMatchObject({
      code: 'malformed_body',
      message: expect.stringContaining('at most 1000'),
    });
  });

  test.each([
    ['urlencoded', FORM, 'a&'.repeat(524_287)],
    ['urlencoded, and empty', FORM, '&'.repeat(1_048_575)],
    ['multipart', MULTIPART, multipart(15_000)],
  ])('%s: far too many are refused before anybody parses them', async (_, headers, body) => {
    const parsed = vi.spyOn(Response.prototype, 'formData');
    onTestFinished(() => parsed.mockRestore());
    await expect(readBody(requestOf(body, headers))).rejects.toMatchObject({ code: 'malformed_body' });
    expect(parsed).not.toHaveBeenCalled();
  });

  test('they are counted once more as they were parsed, in whatever way the parser has found them', async () => {
    const form = new FormData();
    for (let field = 0; field <= MAX_FIELDS; field++) form.append('a', '');
    const parsed = vi.spyOn(Response.prototype, 'formData').mockResolvedValue(form);
    onTestFinished(() => parsed.mockRestore());
    await expect(readBody(requestOf('a=1', FORM))).rejects.toMatchObject({ message: expect.stringContaining('1000') });
  });
});

const MIB = 1_048_576;

describe('X4 a body that cannot', () => {
  const latin1 = new Uint8Array([0x22, 0xfc, 0x22]); // "ü"
  const large = 'a'.repeat(MAX_BODY_BYTES + 1);

  test.each<[string, Body, Record<string, string> | undefined, string]>([
    ['broken JSON', '{', undefined, 'malformed_body'],
    ['other bytes than UTF-8', latin1, undefined, 'malformed_body'],
    ['another charset', '{}', json('latin1'), 'unsupported_media_type'],
    ['a charset that nobody knows', '{}', json('klingon'), 'unsupported_media_type'],
    ['another type', '{}', { 'Content-Type': 'text/plain' }, 'unsupported_media_type'],
    ['no type', new TextEncoder().encode('{}'), {}, 'unsupported_media_type'],
    ['an encoding', '{}', { 'Content-Type': 'application/json', 'Content-Encoding': 'gzip' }, 'unsupported_media_type'],
    ['a large body', large, undefined, 'payload_too_large'],
    [
      'a large body that claims to be small',
      large,
      { 'Content-Type': 'application/json', 'Content-Length': '1' },
      'payload_too_large',
    ],
    ['a form of other bytes than UTF-8', 'a=%FF', FORM, 'malformed_body'],
    ['one beside the character that stands for them', 'a=\ufffd%EF%bf%BD%EF', FORM, 'malformed_body'],
    [
      'a form with a part that only looks like an escaped one',
      Buffer.from('--x\r\nContent-Disposition: form-data; name="f"\r\n\r\n%EF\xbf\xbd\r\n--x--\r\n', 'latin1'),
      { 'Content-Type': 'multipart/form-data; boundary=x' },
      'malformed_body',
    ],
    [
      'a form with a file whose name has other bytes than UTF-8',
      Buffer.from(
        '--x\r\nContent-Disposition: form-data; name="f"; filename="\xfc.pdf"\r\n\r\n\r\n--x--\r\n',
        'latin1',
      ),
      { 'Content-Type': 'multipart/form-data; boundary=x' },
      'malformed_body',
    ],
    ['a form without its boundary', 'x', { 'Content-Type': 'multipart/form-data' }, 'malformed_body'],
    // Of each, one parser reads a form that another one does not.
    ...[
      'multipart/form-data; boundary=x, application/x-www-form-urlencoded',
      'application/x-www-form-urlencoded, multipart/form-data; boundary=x',
      'multipart/form-data; boundary="x, y"',
      'multipart/form-data; boundary=x; boundary=y',
      'multipart/form-data; boundary=x; charset=utf-8; charset=latin1',
      'application/json, application/json',
    ].map((type): [string, Body, Record<string, string>, string] => [
      type,
      'a&'.repeat(500),
      { 'Content-Type': type },
      'unsupported_media_type',
    ]),
  ])('%s', async (_, body, headers, code) => {
    await expect(readBody(requestOf(body, headers))).rejects.toMatchObject({ name: 'BadPayloadError', code });
  });

  test.each(['', ' \n'])('an empty one that says it is JSON is told so: %j', async (body) => {
    const error = { code: 'malformed_body', message: 'The body is empty.' };
    await expect(readBody(requestOf(body))).rejects.toMatchObject(error);
  });

  test('a DELETE may name a type for the body that it does not send', async () => {
    const headers = { 'Content-Type': 'application/json' };
    expect(await readBody(new Request('https://shop.test/', { method: 'DELETE', headers }))).toBeNull();
  });

  test('a body that ends before its end', async () => {
    const body = new ReadableStream({ pull: (controller) => controller.error(new Error('reset')) });
    await expect(readBody(requestOf(body))).rejects.toMatchObject({ code: 'malformed_body' });
  });

  test.each<[string, (request: Request) => unknown]>([
    ['was read', (request) => request.text()],
    ['has a reader', (request) => request.body?.getReader()],
  ])('that %s before is a mistake of the app, not of who has sent it', async (_, read) => {
    const request = requestOf('{}');
    await read(request);
    const error = { name: 'IdempotencyError', message: expect.stringContaining('request.clone()') };
    await expect(readBody(request)).rejects.toMatchObject(error);
    await expect(readBytes(request)).rejects.toMatchObject(error);
  });

  const stream = (bytes: number) => {
    let read = 0;
    const body = new ReadableStream({
      pull: (controller) => {
        if (read >= bytes) return controller.close();
        read += 65_536;
        controller.enqueue(new Uint8Array(65_536));
      },
    });
    return { body, read: () => read };
  };

  // A server that closes a connection with bytes unread resets it, and the refusal with it.
  test.each<[string, Record<string, string>]>([
    ['a body that is too large', { 'Content-Type': 'application/json' }],
    ['one that says so', { 'Content-Type': 'application/json', 'Content-Length': String(8 * MIB) }],
  ])('%s is read to its end before it is refused', async (_, headers) => {
    const { body, read } = stream(8 * MIB);
    await expect(readBody(requestOf(body, headers))).rejects.toMatchObject({ code: 'payload_too_large' });
    expect(read()).toBe(8 * MIB);
  });

  test('so is one of another charset', async () => {
    const { body, read } = stream(MIB);
    const headers = json('latin1');
    await expect(readBody(requestOf(body, headers))).rejects.toMatchObject({ code: 'unsupported_media_type' });
    expect(read()).toBe(MIB);
  });

  test('a body that never ends is read no further than 16 MiB', async () => {
    const { body, read } = stream(Number.POSITIVE_INFINITY);
    await expect(readBody(requestOf(body))).rejects.toMatchObject({ code: 'payload_too_large' });
    expect(read()).toBeLessThan(17 * MIB);
  });

  test('a body that says it is larger than that is not read at all', async () => {
    const { body, read } = stream(Number.POSITIVE_INFINITY);
    const headers = { 'Content-Type': 'application/json', 'Content-Length': String(17 * MIB) };
    await expect(readBody(requestOf(body, headers))).rejects.toMatchObject({ code: 'payload_too_large' });
    expect(read()).toBeLessThan(MIB);
  });

  test('a body in chunks of one byte takes no more than its size: none of them is kept', async () => {
    const sent = Buffer.from(JSON.stringify({ text: 'tea'.repeat(3000) }));
    const chunk = new Uint8Array(1); // the same for all: whoever keeps them has the last one, and no body
    let at = 0;
    const pull = (controller: ReadableStreamDefaultController<Uint8Array>) => {
      if (at === sent.length) return controller.close();
      chunk[0] = sent[at++] as number;
      controller.enqueue(chunk);
    };
    const body = new ReadableStream({ pull }, { highWaterMark: 0 });
    expect(Buffer.from(await readBytes(requestOf(body))).equals(sent)).toBe(true);
  });

  test('as bytes, with a limit that is no whole number', async () => {
    expect(await readBytes(requestOf(new Uint8Array(100)), 150.5)).toHaveLength(100);
    await expect(readBytes(requestOf(new Uint8Array(151)), 150.5)).rejects.toMatchObject({ code: 'payload_too_large' });
  });

  test('as bytes, with a limit of its own', async () => {
    const body = new Uint8Array([0xff, 0, 1]);
    expect(await readBytes(requestOf(body))).toEqual(Buffer.from(body));
    expect(await readBytes(requestOf(body), 3)).toEqual(Buffer.from(body));
    await expect(readBytes(requestOf(body), 2)).rejects.toMatchObject({
      code: 'payload_too_large',
      expected: 'at most 2 bytes',
    });
  });
});
