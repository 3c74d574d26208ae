import { brotliDecompressSync, gunzipSync, inflateSync } from 'node:zlib';
import { assertSetUp, CodedError, MAX_RESULT_BYTES, ResultTooLargeError, tryOr } from '../core/errors.ts';
import { settleWithin } from '../core/wait.ts';
import type { StoredResponse } from './answer.ts';

/** How an execution's answer becomes an HTTP answer, which is then stored beside it. */
export interface ResponseOptions {
  /** Headers that a replay repeats, besides the usual ones. */
  headers: readonly string[];
  /** Makes the response of what was returned, also of a `Response`. Before the key settles: what it throws rolls back. */
  render(data: unknown): Response | Promise<Response>;
}

/** Headers that describe the answer itself. Others belong to one delivery of it: a cookie, a trace, a server's name. */
const DESCRIBES_THE_ANSWER = [
  ...['cache-control', 'content-disposition', 'content-language', 'content-type', 'etag', 'last-modified'],
  ...['link', 'location', 'vary'],
];

const ENCODING = 'content-encoding';

type Decode = typeof gunzipSync;
const DECODERS: Record<string, Decode> = { gzip: gunzipSync, deflate: inflateSync, br: brotliDecompressSync };

/** Headers of the connection that a response came over, and of how its body was packed there. */
const OF_THE_CONNECTION = new Set(['connection', ENCODING, 'content-length', 'keep-alive', 'transfer-encoding']);

/** The stored response with all headers of the one that it was made of, but for those of a connection: its first delivery. */
export function firstDelivery(stored: StoredResponse, { headers }: Response): Response {
  const own = [...headers].filter(([name]) => !OF_THE_CONNECTION.has(name));
  const encoding = stored.headers.filter(([name]) => name === ENCODING);
  return responseOf({ ...stored, headers: [...own, ...encoding] });
}

/** A body that is made at once is read at once; what takes longer is still being made. */
const COMPLETE_WITHIN_MS = 1000;
/** No more of it is decoded to see whether it is encoded. */
const MAX_DECODED_BYTES = 1_048_576;

/** The names of the headers that a replay repeats. */
export function repeatedHeaders(declared: readonly string[]): ReadonlySet<string> {
  const names = declared.map((name) => name.toLowerCase());
  const unfit = names.find((name) => name === 'set-cookie' || OF_THE_CONNECTION.has(name));
  assertSetUp(!unfit, 'A replay never sets a cookie, for it may reach another device, nor speaks of a connection.', {
    existing: `${unfit} among the declared headers`,
    expected: 'headers that describe the answer',
  });
  return new Set([...DESCRIBES_THE_ANSWER, ...names]);
}

/**
 * Reads a response to its end, so that it can be stored (R1): its status, its body to the byte, the repeated headers.
 *
 * @throws ResultTooLargeError over 256 KiB
 * @throws CodedError for a body that is streamed
 */
export async function storedResponse(response: Response, declared: readonly string[] = []): Promise<StoredResponse> {
  if (response.status < 200) throw noAnswer();
  const repeated = repeatedHeaders(declared);
  const headers = [...response.headers].filter(([name]) => repeated.has(name));
  if (response.headers.get('content-type')?.startsWith('text/event-stream')) throw streams();
  const bytes = response.body && (await readToTheEnd(response.body));
  const encoding = bytes && response.headers.get(ENCODING)?.toLowerCase();
  if (encoding && isEncoded(bytes, encoding)) headers.push([ENCODING, encoding]);
  return { status: response.status, headers, body: bytes && textOf(bytes) };
}

export function noAnswer(): CodedError {
  return new CodedError('internal', 'Response.error() is no answer that could be sent.');
}

/** The stored response, to be sent. */
export function responseOf({ status, headers, body }: StoredResponse): Response {
  // As bytes: of a text, Response would make up a Content-Type that nobody gave.
  const bytes = typeof body === 'string' ? Buffer.from(body) : body;
  return new Response(bytes as BodyInit | null, { status, headers });
}

async function readToTheEnd(body: ReadableStream<Uint8Array>): Promise<Uint8Array> {
  const reader = body.getReader();
  try {
    return await settleWithin(readAll(reader), COMPLETE_WITHIN_MS, () => {
      throw streams();
    });
  } catch (error) {
    reader.cancel(error).catch(() => {}); // not awaited: what streams may never answer
    throw error;
  }
}

async function readAll(reader: ReadableStreamDefaultReader<Uint8Array>): Promise<Uint8Array> {
  const chunks: Uint8Array[] = [];
  let length = 0;
  for (;;) {
    const { done, value } = await reader.read();
    if (done) return Buffer.concat(chunks);
    chunks.push(value);
    length += value.byteLength;
    if (length > MAX_RESULT_BYTES) throw new ResultTooLargeError('response', length);
  }
}

/**
 * Whether the bytes are encoded so: `fetch` decodes the body of its response and leaves the header, and an app may pass both on.
 *
 * @throws CodedError for an encoding of which that cannot be told
 */
function isEncoded(bytes: Uint8Array, encoding: string): boolean {
  if (encoding === 'identity') return false;
  const decode = DECODERS[encoding];
  if (!decode) {
    const words = `A response with Content-Encoding: ${encoding} cannot be stored. Let the server compress, or a proxy.`;
    throw new CodedError('internal', words, { existing: encoding, expected: 'gzip, deflate, br or none' });
  }
  try {
    // Of some texts Brotli makes nothing.
    return decode(bytes, { maxOutputLength: MAX_DECODED_BYTES }).byteLength > 0;
  } catch (error) {
    return (error as NodeJS.ErrnoException).code === 'ERR_BUFFER_TOO_LARGE';
  }
}

/** As text where it is text, which keeps the row readable; else as bytes. Either comes back to the byte. */
function textOf(bytes: Uint8Array): string | Uint8Array {
  const decoder = new TextDecoder('utf-8', { fatal: true, ignoreBOM: true });
  return tryOr(() => decoder.decode(bytes)) ?? new Uint8Array(bytes);
}

function streams(): CodedError {
  return new CodedError('internal', 'A streamed response cannot be stored and replayed. Answer with a whole body.', {
    existing: `a body that is not complete within ${COMPLETE_WITHIN_MS} ms, or text/event-stream`,
    expected: 'text, JSON, bytes or no body',
  });
}
