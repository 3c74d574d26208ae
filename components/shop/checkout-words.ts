import type { Messages } from 'oncekit/react';

const UNSETTLED =
  'Your order may have gone through. Please do not pay again: we are finding out. You can close this page. If it went through, a receipt comes by mail.';

/** The checkout's words for an order on its way: the kit's states, as a customer sees them. */
export const CHECKOUT_WORDS: Partial<Messages> = {
  executing: 'Placing your order…',
  retrying: 'No answer yet. Trying again: your order is placed once.',
  checking: 'Finding out whether your order got through…',
  offline: 'You are offline. Your order goes out, once, when you are back online.',
  unknown:
    'We have no answer, so we do not know whether your order got through. It is placed once, whatever you do next.',
  absent: 'Your order has not reached us so far. Place it again: you pay once.',
  in_flight:
    'Your order has reached us. Please do not pay again: we are finishing its payment. You can close this page.',
  unsettled: UNSETTLED,
  outcome_unknown: UNSETTLED,
  // A person has ended it, without the provider's word. Of other refusals their own message says more.
  failed: (outcome) =>
    outcome?.ok === false && outcome.reason === 'marked_failed'
      ? 'We could not confirm this payment. If you were charged, it will be given back.'
      : '',
  hasNavigated: 'Taking you to your order…',
  hasSucceeded: 'Your order is placed.',
  recovered: 'Your order is placed.',
};

/** The same for a page that was loaded anew: what was entered is gone. */
export const RELOADED_WORDS: Partial<Messages> = {
  ...CHECKOUT_WORDS,
  absent: 'Your order has not reached us so far. Enter your details again to place it: you pay once.',
};

/** The same for an order of which the page knows that it has arrived: it is not lost, whoever does not answer. */
export function beingPaid(words: Partial<Messages>): Partial<Messages> {
  return { ...words, checking: UNSETTLED, unknown: UNSETTLED };
}
