/** What the checkout says of an order on its way: the kit's states, in a customer's words. */
export const CHECKOUT_WORDS = {
  executing: 'Placing your order…',
  retrying: 'We lost the connection. Your order may have gone through: checking…',
  checking: 'Your order may have gone through: checking…',
  offline: 'You are offline. Your order goes out, once, when you are back online.',
  unknown: 'We lost the connection. Your order may have gone through. Sending it again is safe: you pay once.',
  hasNavigated: 'Taking you to your order…',
  hasSucceeded: 'Your order is placed.',
  recovered: 'It did. This was already sent, and it went through.',
};
