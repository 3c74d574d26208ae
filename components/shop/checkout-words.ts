import type { Messages } from 'oncekit/react';

/** The checkout's words for an order on its way: the kit's states, as a customer sees them. */
export const CHECKOUT_WORDS: Partial<Messages> = {
  executing: 'Placing your order…',
  retrying: 'The connection is bad. Trying again: your order is placed once, and you pay once.',
  checking: 'Finding out whether your order got through…',
  offline: 'You are offline. Your order goes out, once, when you are back online.',
  unknown:
    'We lost the connection, so we do not know whether your order got through. You pay once, whatever you do next.',
  absent: 'Your order has not reached us so far, and nothing has been charged. Place it again: you pay once.',
  hasNavigated: 'Taking you to your order…',
  hasSucceeded: 'Your order is placed.',
  recovered: 'Your order is placed.',
};

/** The same for a page that was loaded anew: what was entered is gone. */
export const RELOADED_WORDS: Partial<Messages> = {
  ...CHECKOUT_WORDS,
  absent:
    'Your order has not reached us so far, and nothing has been charged. Enter your details again to place it: you pay once.',
};
