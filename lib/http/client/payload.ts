/** The body that every attempt of one call sends. */
export interface Payload {
  body: BodyInit | null;
  /** The type that goes with the body, its multipart boundary included; the caller's own header wins. */
  contentType: string | null;
  /** False for a stream: it can be sent once. */
  isReplayable: boolean;
}

/**
 * Takes the body once, so that every attempt sends the same bytes, also when the caller goes on filling the form: a
 * server that compares the content of a key would refuse anything else. A stream is passed on and can be sent once.
 *
 * @throws TypeError for a Request whose body has been read: nothing was sent
 */
export async function takePayload(input: RequestInfo | URL, body: BodyInit | null | undefined): Promise<Payload> {
  if (body === null || body === undefined) {
    if (!(input instanceof Request) || (!input.body && !input.bodyUsed)) {
      return { body: null, contentType: null, isReplayable: true };
    }
    // Its type is among its headers already.
    return { body: await input.blob(), contentType: null, isReplayable: true };
  }
  if (isStream(body)) return { body, contentType: null, isReplayable: false };
  // Response encodes as fetch does, and tells the type; it does so once, where fetch would draw a new boundary each time.
  const encoded = new Response(body);
  return { body: await encoded.blob(), contentType: encoded.headers.get('content-type'), isReplayable: true };
}

/** A ReadableStream, or the async iterable that Node takes as well. A string or FormData is iterable, but not async. */
function isStream(body: BodyInit): boolean {
  return typeof body === 'object' && (body instanceof ReadableStream || Symbol.asyncIterator in body);
}
