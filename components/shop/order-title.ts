interface Title {
  title: string;
  lead: string;
}

const titles: Record<string, Title> = {
  pending: { title: 'Thank you for your order', lead: 'We have it, once. You can close this page.' },
  paying: {
    title: 'Your payment is being finished',
    lead: 'Your card is charged at most once. This goes on without you: you can close this page.',
  },
  paid: {
    title: 'Thank you for your order',
    lead: 'We have it, once, and your card was charged once. You can close this page.',
  },
  payment_failed: {
    title: 'This order was not paid',
    lead: 'Your card was declined and nothing was charged. Your cart is kept, in case you want to try another card.',
  },
  partially_refunded: { title: 'Your order', lead: 'Part of what you paid has been given back.' },
  refunded: { title: 'Your order', lead: 'All that you paid has been given back.' },
  cancelled: { title: 'This order is cancelled', lead: 'It was not paid, and nothing will be sent.' },
};

/** What an order's page says first. */
export function titleOf(status: string): Title {
  return titles[status] ?? { title: 'Your order', lead: '' };
}
