import type { ForeignCall } from 'oncekit';
import { type StripeCall, stripeCall } from 'oncekit/stripe';
import Stripe from 'stripe';
import { type PaymentSettings, paymentSettings } from './settings.ts';

interface Payments {
  stripe: Stripe;
  settings: PaymentSettings;
}

// On `globalThis`, so that a hot reload does not open more connections.
const held = globalThis as { oncekitDemoPayments?: Payments };

/** The payment provider: Stripe, or what STRIPE_API_BASE says. Made at the first payment, one for the process. */
export function payments(): Payments {
  held.oncekitDemoPayments ??= openPayments(paymentSettings());
  return held.oncekitDemoPayments;
}

function openPayments(settings: PaymentSettings): Payments {
  const { secretKey, base } = settings;
  const elsewhere = base && {
    protocol: base.protocol.slice(0, -1) as 'http' | 'https',
    host: base.hostname,
    port: base.port || (base.protocol === 'https:' ? 443 : 80),
  };
  // The kit decides what is sent again, and when it asks instead: a second layer of retries would be out of its sight.
  const stripe = new Stripe(secretKey, {
    ...elsewhere,
    maxNetworkRetries: 0,
    httpClient: sendsOnce(),
    telemetry: false,
  });
  return { stripe, settings };
}

type Own = 'providerKeyTtlMs' | 'settleMs' | 'timeoutMs';

/** A call to the provider, as patient with it as the settings say. */
export function paymentCall<Arguments, R>(call: Omit<StripeCall<Arguments, R>, Own>): ForeignCall<Arguments, R> {
  const { keyTtlMs: providerKeyTtlMs, settleMs, timeoutMs, canLookUp } = payments().settings;
  const lookup = canLookUp ? call.lookup : undefined;
  return stripeCall({ ...call, providerKeyTtlMs, settleMs, timeoutMs, lookup });
}

/**
 * Stripe's own HTTP client, without its one silent retry: the package sends again after ECONNRESET and EPIPE whatever
 * `maxNetworkRetries` says. It recognizes them by `code`, so they travel as the cause of an error that has none.
 */
function sendsOnce(): Stripe.HttpClient {
  const client = Stripe.createNodeHttpClient();
  const makeRequest = client.makeRequest.bind(client);
  client.makeRequest = (...request) =>
    makeRequest(...request).catch((error: NodeJS.ErrnoException) => {
      if (error.code !== 'ECONNRESET' && error.code !== 'EPIPE') throw error;
      throw new Error(error.message, { cause: error });
    });
  return client;
}
