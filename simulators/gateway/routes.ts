import type { Call, Outcome } from './call.ts';
import { list, searchIntents } from './lists.ts';
import type { Params } from './params.ts';
import { cancelIntent, charges, confirmIntent, createIntent, findIntent } from './payment-intents.ts';
import { createRefund, findRefund } from './refunds.ts';
import { missing } from './stripe-error.ts';

export interface Route {
  answer: (call: Call) => Outcome;
  /** Tells whether it charges a card. */
  charges?: (params: Params) => boolean;
  /** Shows payment intents to somebody who does not know their id: what a provider without search has not got. */
  finds?: boolean;
}

type Path = readonly [method: string, pattern: RegExp, route: Route];

/** The first match counts. */
const paths: readonly Path[] = [
  ['POST', /^\/v1\/payment_intents$/, { answer: createIntent, charges }],
  ['GET', /^\/v1\/payment_intents$/, { answer: listIntents, finds: true }],
  ['GET', /^\/v1\/payment_intents\/search$/, { answer: searchIntents, finds: true }],
  ['GET', /^\/v1\/payment_intents\/([^/]+)$/, { answer: (call) => ({ status: 200, body: findIntent(call) }) }],
  ['POST', /^\/v1\/payment_intents\/([^/]+)\/confirm$/, { answer: confirmIntent, charges: () => true }],
  ['POST', /^\/v1\/payment_intents\/([^/]+)\/cancel$/, { answer: cancelIntent }],
  ['POST', /^\/v1\/refunds$/, { answer: createRefund }],
  ['GET', /^\/v1\/refunds$/, { answer: listRefunds }],
  ['GET', /^\/v1\/refunds\/([^/]+)$/, { answer: findRefund }],
  ['GET', /^\/v1\/events$/, { answer: listEvents }],
  ['GET', /^\/v1\/events\/([^/]+)$/, { answer: findEvent }],
];

export function findRoute(method: string, path: string): (Route & { id: string }) | undefined {
  for (const [knownMethod, pattern, route] of paths) {
    const match = method === knownMethod ? pattern.exec(path) : null;
    if (match) return { ...route, id: decoded(match[1] ?? '') };
  }
  return undefined;
}

function listIntents(call: Call): Outcome {
  return list(call, call.ledger.all('payment_intent'));
}

function listRefunds(call: Call): Outcome {
  const [intent, charge] = [call.params.text('payment_intent'), call.params.text('charge')];
  const wanted = call.ledger
    .all('refund')
    .filter((refund) => (intent ?? refund.payment_intent) === refund.payment_intent)
    .filter((refund) => (charge ?? refund.charge) === refund.charge);
  return list(call, wanted);
}

function listEvents(call: Call): Outcome {
  const type = call.params.text('type');
  return list(
    call,
    call.ledger.all('event').filter((event) => (type ?? event.type) === event.type),
  );
}

function findEvent({ ledger, id }: Call): Outcome {
  const event = ledger.find('event', id);
  if (!event) throw missing('event', id, 'id');
  return { status: 200, body: event };
}

function decoded(segment: string): string {
  try {
    return decodeURIComponent(segment);
  } catch {
    return segment; // no id looks like that
  }
}
