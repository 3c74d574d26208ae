import { MIMEType } from 'node:util';
import { BadPayloadError, IdempotencyError, tryOr } from '../core/errors.ts';
import { formBeyondLimits, MAX_BODY_BYTES, MAX_FIELDS, tooManyFields } from '../core/payload-limits.ts';

/** A refused body is read as far as this, so that its sender hears of the refusal. */
const MAX_DROPPED_BYTES = 16 * MAX_BODY_BYTES;

/**
 * The body of a request: JSON, a form, or null for no body at all. UTF-8 alone: what is read must be what was sent.
 *
 * @throws BadPayloadError `unsupported_media_type`, `payload_too_large` or `malformed_body`
 * @throws IdempotencyError where somebody has read it before
 */
export async function readBody(request: Request): Promise<unknown> {
  const bytes = await readBytes(request);
  const type = mediaTypeOf(request.headers);
  const said = request.headers.get('content-type') ?? '';
  const { essence = '' } = type ?? {};
  // Many clients name a type for a body that they do not send.
  const mayBeEmpty = essence !== 'application/json' || /^(GET|HEAD|DELETE)$/.test(request.method);
  if (bytes.length === 0 && mayBeEmpty) return null;
  if (essence === 'application/json' || essence.endsWith('+json')) return parseStrictJson(decode(bytes));
  if (type && FORMS.has(essence) && hasOneMeaning(said, type)) return await readForm(bytes, type);
  throw unsupported(said || 'no Content-Type', 'application/json, or a form');
}

const FORMS = new Set(['application/x-www-form-urlencoded', 'multipart/form-data']);

function mediaTypeOf(headers: Headers): MIMEType | undefined {
  const encoding = headers.get('content-encoding');
  if (encoding && encoding.toLowerCase() !== 'identity')
    throw unsupported(`Content-Encoding: ${encoding}`, 'no encoding');
  const type = tryOr(() => new MIMEType(headers.get('content-type') ?? ''));
  const charset = type?.params.get('charset') ?? 'utf-8';
  if (!/^utf-?8$/i.test(charset)) throw unsupported(`charset=${charset}`, 'utf-8');
  return type;
}

/**
 * A form's type that every parser of forms takes for the same one. Others split at commas and take the last, or the other one of
 * two parameters of one name: they would parse by another boundary than the one by which the parts are counted here.
 */
function hasOneMeaning(said: string, { params }: MIMEType): boolean {
  const parts = said.split(';').filter((part) => part.trim() !== '');
  return !said.includes(',') && [...params].length === parts.length - 1;
}

/**
 * The body as it came, for a caller that verifies a signature over it.
 *
 * A body larger than `maxBytes` (1 MiB by default) is read on and dropped, up to 16 MiB, before it is refused: a server
 * that closes a connection with bytes unread resets it, and its client, or the proxy in between, may lose the refusal
 * (RFC 9112, section 9.6) and try again for ever. What Content-Length says may be wrong, or not be said.
 *
 * @throws BadPayloadError `payload_too_large`, or `malformed_body` when it breaks off
 * @throws IdempotencyError where somebody has read it before
 */
export async function readBytes(request: Request, maxBytes: number = MAX_BODY_BYTES): Promise<Uint8Array> {
  if (request.bodyUsed || request.body?.locked) {
    throw new IdempotencyError(
      'The body of the request was read before the kit could read it. Read request.clone() there.',
      { existing: 'a body that was read, or has a reader', expected: 'await request.clone().text()' },
    );
  }
  if (Number(request.headers.get('content-length') ?? 0) > MAX_DROPPED_BYTES) throw tooLarge(maxBytes);
  let kept = Buffer.alloc(0);
  let length = 0;
  try {
    for await (const chunk of (request.body ?? []) as AsyncIterable<Uint8Array>) {
      length += chunk.byteLength;
      if (length > MAX_DROPPED_BYTES) break;
      if (length > maxBytes) continue;
      // Copied at once: a client may send chunks of one byte, and each that is kept takes 200 more.
      if (length > kept.length) kept = Buffer.concat([kept], Math.min(2 * length, Math.floor(maxBytes)));
      kept.set(chunk, length - chunk.byteLength);
    }
  } catch (cause) {
    throw new BadPayloadError('malformed_body', 'The body ended before it was complete.', { cause });
  }
  if (length > maxBytes) throw tooLarge(maxBytes);
  return kept.subarray(0, length);
}

function decode(bytes: Uint8Array): string {
  try {
    return new TextDecoder('utf-8', { fatal: true }).decode(bytes);
  } catch (cause) {
    throw new BadPayloadError('malformed_body', 'The body is not valid UTF-8.', { expected: 'UTF-8', cause });
  }
}

/**
 * JSON that has one meaning (F1). `JSON.parse` keeps the last of two members of one name, and another reader the
 * first: such a text is refused, and so is one that is no JSON.
 *
 * @throws BadPayloadError `malformed_body`
 */
function parseStrictJson(text: string): unknown {
  // Without the parser's error: it quotes what it could not read.
  const value: unknown = tryOr(() => JSON.parse(text));
  if (value === undefined) {
    const words = text.trim() === '' ? 'The body is empty.' : 'The body is not valid JSON.';
    throw new BadPayloadError('malformed_body', words, { expected: 'JSON' });
  }
  assertOneMeaning(text);
  return value;
}

const MAX_DEPTH = 100;

/** Strings whole, and what opens, closes and separates. Numbers, words and white space do not matter here. */
const TOKENS = /"[^"\\]*(?:\\.[^"\\]*)*"|[{}[\],:]/g;

/** Reads valid JSON once more, for what `JSON.parse` does not say. Names count as they read, whatever their escapes. */
function assertOneMeaning(text: string): void {
  const open: (Set<string> | null)[] = []; // the names of each open object; null for an array
  let last = '';
  for (const [token] of text.matchAll(TOKENS)) {
    if (token === '{') open.push(new Set());
    else if (token === '[') open.push(null);
    else if (token === '}' || token === ']') open.pop();
    else if (token === ':') countName(open.at(-1) ?? new Set(), JSON.parse(last));
    if (open.length > MAX_DEPTH) throw badJson('The JSON is nested too deeply.', 'deeper', `${MAX_DEPTH} levels`);
    last = token;
  }
}

function countName(names: Set<string>, name: string): void {
  if (names.has(name)) {
    const words = 'A name comes twice in one JSON object, and readers differ in which of them counts.';
    throw badJson(words, name, 'each name once');
  }
  names.add(name);
  if (names.size > MAX_FIELDS) throw badJson('A JSON object has too many names.', 'more', `at most ${MAX_FIELDS}`);
}

function badJson(words: string, existing: unknown, expected: string): BadPayloadError {
  return new BadPayloadError('malformed_body', words, { existing, expected });
}

/** Through the platform's own parser of forms. Counted before that: to parse 500,000 empty fields takes half a second. */
async function readForm(bytes: Uint8Array, type: MIMEType): Promise<FormData> {
  if (hasTooManyParts(bytes, type)) throw tooManyFields();
  const form = await parseForm(bytes, type);
  // However its parser found them.
  const beyond = formBeyondLimits(form);
  if (beyond) throw beyond;
  // Somebody may have sent the character itself: without those, none is left where the bytes are UTF-8.
  if (hasReplaced(form) && hasReplaced(await parseForm(withoutReplacements(bytes, type), type)))
    throw new BadPayloadError('malformed_body', 'The form is not valid UTF-8.', { expected: 'UTF-8' });
  return form;
}

async function parseForm(bytes: Uint8Array, type: MIMEType): Promise<FormData> {
  const body = new Response(bytes as BodyInit, { headers: { 'Content-Type': String(type) } });
  return await body.formData().catch((cause) => {
    throw new BadPayloadError('malformed_body', 'The form cannot be read.', { existing: String(type), cause });
  });
}

/** The platform's parser puts this character wherever bytes are no UTF-8, so that two bodies would pass for one. */
function hasReplaced(form: FormData): boolean {
  const texts = [...form].flatMap(([name, value]) => [name, typeof value === 'string' ? value : value.name]);
  return texts.some((text) => text.includes('\ufffd'));
}

/** Its three bytes: no other character begins or ends within them. A urlencoded form may escape each of them. */
const REPLACEMENT = /\xef\xbf\xbd/g;
const URLENCODED = /(?:\xef|%[Ee][Ff])(?:\xbf|%[Bb][Ff])(?:\xbd|%[Bb][Dd])/g;

function withoutReplacements(bytes: Uint8Array, { essence }: MIMEType): Uint8Array {
  const replacement = essence === 'multipart/form-data' ? REPLACEMENT : URLENCODED;
  return Buffer.from(Buffer.from(bytes).toString('latin1').replace(replacement, '?'), 'latin1');
}

/** By what separates them, so that empty ones count as well. */
function hasTooManyParts(bytes: Uint8Array, { essence, params }: MIMEType): boolean {
  if (essence !== 'multipart/form-data') return hasMoreThan(MAX_FIELDS - 1, '&', bytes);
  const boundary = params.get('boundary');
  // One stands behind each part.
  return boundary !== null && hasMoreThan(MAX_FIELDS, `\r\n--${boundary}`, bytes);
}

function hasMoreThan(most: number, separator: string, bytes: Uint8Array): boolean {
  const body = Buffer.from(bytes.buffer, bytes.byteOffset, bytes.byteLength);
  let found = 0;
  for (let at = body.indexOf(separator); at !== -1; at = body.indexOf(separator, at + separator.length)) {
    if (++found > most) return true;
  }
  return false;
}

function unsupported(existing: string, expected: string): BadPayloadError {
  const words = `This cannot be read: ${existing}. Send ${expected}.`;
  return new BadPayloadError('unsupported_media_type', words, { existing, expected });
}

function tooLarge(maxBytes: number): BadPayloadError {
  return new BadPayloadError('payload_too_large', `The body is larger than ${maxBytes} bytes.`, {
    expected: `at most ${maxBytes} bytes`,
  });
}
