import type { Tone } from '../ui/badge.tsx';
import type { IconName } from '../ui/icon.tsx';

interface Title {
  title: string;
  lead: string;
  icon: IconName;
  tone: Tone;
}

/** How an order is being paid. */
export interface Payment {
  /** The provider's answer was lost, and nobody can say yet whether it was charged. */
  isUnknown: boolean;
  /** The provider honours keys, or can be asked: whoever sends it again, it is charged once. */
  isAtMostOnce: boolean;
}

const UNDER_WAY: Payment = { isUnknown: false, isAtMostOnce: false };

const done = { icon: 'check', tone: 'good' } as const;
const back = { icon: 'back', tone: 'muted' } as const;

const titles: Record<string, Title> = {
  pending: { ...done, title: 'Thank you for your order', lead: 'We have your order. You can close this page.' },
  paying: {
    icon: 'clock',
    tone: 'info',
    title: 'Your payment is being finished',
    lead: 'This goes on without you: you can close this page.',
  },
  paid: {
    ...done,
    title: 'Thank you for your order',
    lead: 'Your card was charged once, and a receipt is on its way. You can close this page.',
  },
  payment_failed: {
    icon: 'cross',
    tone: 'bad',
    title: 'This order was not paid',
    lead: 'Your card was declined and nothing was charged. Your cart is kept, in case you want to try another card.',
  },
  partially_refunded: { ...back, title: 'Your order', lead: 'Part of what you paid has been given back.' },
  refunded: { ...back, title: 'Your order', lead: 'All that you paid has been given back.' },
  cancelled: {
    icon: 'cross',
    tone: 'muted',
    title: 'This order is cancelled',
    lead: 'It was not paid, and nothing will be sent.',
  },
};

/** Instead of those that say what was charged, where that is not known. */
const inDoubt: Record<string, Title> = {
  paying: {
    icon: 'clock',
    tone: 'info',
    title: 'Your payment is being finished',
    lead: 'This goes on without you: you can close this page. If you were charged more than once, the rest will be given back.',
  },
  payment_failed: {
    icon: 'lost',
    tone: 'warn',
    title: 'We could not confirm this payment',
    lead: 'If you were charged, it will be given back. Contact us if it is not.',
  },
  paid: {
    ...done,
    title: 'Thank you for your order',
    lead: 'Your order is paid. If you were charged more than once, the rest will be given back.',
  },
};

const unsettled: Title = {
  icon: 'clock',
  tone: 'warn',
  title: 'We are finding out whether you were charged',
  lead: 'It may have gone through. Please do not pay again: somebody of ours looks at it. You can close this page. If it went through, a receipt comes by mail.',
};

/**
 * The first line of an order's page.
 *
 * @param isInDoubt what was charged for it is not known, or more than it was paid with
 * @param payment of an order that is being paid
 */
export function titleOf(status: string, isInDoubt: boolean, payment: Payment = UNDER_WAY): Title {
  if (status === 'paying' && payment.isUnknown) return unsettled;
  const known = (isInDoubt ? inDoubt[status] : undefined) ?? titles[status];
  if (!known) return { icon: 'receipt', tone: 'muted', title: 'Your order', lead: '' };
  const isPromised = status === 'paying' && !isInDoubt && payment.isAtMostOnce;
  return isPromised ? { ...known, lead: `Your card is charged at most once. ${known.lead}` } : known;
}
