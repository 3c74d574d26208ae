import type Stripe from 'stripe';
import { answered } from '../api/route.ts';
import { paymentWebhookSecrets } from '../env.ts';
import { inbox } from '../inbox.ts';
import { payments } from './payments.ts';
import { rawBody, refusal } from './webhook-request.ts';

/** Stripe's own. */
const TOLERANCE_S = 300;
/** The meaning that Stripe's package gives it. */
const ANY_AGE = 0;

/**
 * The payment provider's webhook. An event that is proven to come from it takes effect once, however often and in
 * whatever order events arrive. Before that nothing of it is believed, and nothing is written.
 *
 * - 204: done, or done before; also a dead letter that is kept, which only a person can have run again.
 * - 202: not done yet, but kept: the worker runs it again, with backoff. Not 5xx: that would have the provider repeat it
 *   as well, and give up on an endpoint that fails too often.
 * - 400: no signature, a wrong one, or an old one. 413: too large.
 * - 500 and 503: to be sent again. Whatever is neither done nor kept, so that nothing is acknowledged that would be lost.
 */
export async function receivePaymentWebhook(request: Request): Promise<Response> {
  return await answered(request, async () => {
    const body = await rawBody(request);
    if (body instanceof Response) return body;
    const proven = provenEvent(body, request.headers.get('stripe-signature'));
    if (typeof proven === 'string') return refusal(400, proven);
    const received = await inbox.receiveOnce({ source: 'stripe', eventId: proven.id, payload: proven });
    if ('isKept' in received && !received.isKept) return refusal(500, 'It could not be processed. Send it again.');
    return new Response(null, { status: received.kind === 'failed' ? 202 : 204 });
  });
}

/** The event, if one of our secrets has signed it a short while ago; else why not, in words that tell nobody a secret. */
function provenEvent(body: Buffer, signature: string | null): Stripe.Event | string {
  if (!signature) return 'There is no Stripe-Signature.';
  const { webhooks } = payments().stripe;
  for (const secret of paymentWebhookSecrets()) {
    try {
      const event: Partial<Stripe.Event> | null = webhooks.constructEvent(body, signature, secret, TOLERANCE_S);
      if (event?.object === 'event' && event.id && event.data?.object) return event as Stripe.Event;
    } catch {
      // Not by this secret, too old, or no event: said below.
    }
  }
  if (isSigned(body, signature, TOLERANCE_S)) return 'It is signed, but it is no event.';
  // Anybody who has seen a genuine request can send a copy of it, whenever it may help him.
  return isSigned(body, signature, ANY_AGE)
    ? `The signature is older than ${TOLERANCE_S} seconds.`
    : 'The signature does not fit: it is of another secret, or of another body.';
}

/** Tells whether any of our secrets has signed these bytes, whatever they are. */
function isSigned(body: Buffer, signature: string, toleranceS: number): boolean {
  const { webhooks } = payments().stripe;
  return paymentWebhookSecrets().some((secret) => {
    try {
      return webhooks.signature?.verifyHeader(body, signature, secret, toleranceS) ?? false;
    } catch {
      return false;
    }
  });
}
