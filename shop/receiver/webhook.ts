import { SignatureError, verifyWebhook } from 'oncekit/messaging';
import { answered } from '../api/route.ts';
import { eventSecrets } from '../env.ts';
import { rawBody, refusal } from '../payments/webhook-request.ts';
import { receiveShopEvent, shopEvent } from './receiver.ts';

/** The kit sends 256 KiB of payload at most, and what is around it. */
const MAX_BODY_BYTES = 300_000;

/**
 * The receiver's webhook: an event that is proven to come from the shop takes effect once, however often it arrives, and
 * is acknowledged with 204; so is a dead letter that is kept. Whatever else is answered, the sender repeats it, so nothing
 * is lost: 401 what cannot be believed, 400 and 413 what is no event, 500 what could not be processed, 503 with
 * Retry-After while the database is away.
 */
export async function receiveWebhook(request: Request): Promise<Response> {
  const secrets = eventSecrets();
  // Without a secret anybody could be the shop.
  if (secrets.length === 0) return refusal(503, 'EVENTS_WEBHOOK_SECRET is not set here: nobody can be believed.');
  return await answered(request, async () => {
    const bytes = await rawBody(request, MAX_BODY_BYTES);
    if (bytes instanceof Response) return bytes;
    const body = bytes.toString();
    let id: string;
    try {
      id = verifyWebhook(body, request.headers, secrets).id;
    } catch (error) {
      if (error instanceof SignatureError) return refusal(401, error.message);
      throw error;
    }
    const event = shopEvent.safeParse({ ...parsed(body), id });
    if (!event.success) return refusal(400, 'This is none of the shop’s events.');
    const received = await receiveShopEvent('webhooks', event.data);
    const mustComeAgain = received.kind === 'failed' || (received.kind === 'dead' && !received.isKept);
    return mustComeAgain ? refusal(500, 'It could not be processed. Send it again.') : noContent();
  });
}

const noContent = () => new Response(null, { status: 204 });

function parsed(body: string): object {
  try {
    return JSON.parse(body) as object;
  } catch {
    return {};
  }
}
