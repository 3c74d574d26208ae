import type { Payment } from '../../shop/orders/payment-answer.ts';
import type { Tone } from '../ui/badge.tsx';
import type { IconName } from '../ui/icon.tsx';

interface Title {
  title: string;
  lead: string;
  icon: IconName;
  tone: Tone;
}

type Stand = Omit<Payment, 'answer'>;

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
  refunded: {
    ...back,
    title: 'Your order',
    lead: 'What you paid it with has been given back. If you were charged more than once, the rest will be given back.',
  },
};

/** The same, once that has gone back. */
const returned: Record<string, string> = {
  payment_failed: 'You were charged, and it has been given back. Contact us if it does not reach you.',
  paid: 'Your order is paid. What was charged besides has been given back.',
  refunded: 'All that you paid has been given back.',
};

const unsettled: Title = {
  icon: 'clock',
  tone: 'warn',
  title: 'We are finding out whether you were charged',
  lead: 'It may have gone through. Please do not pay again: somebody of ours looks at it. You can close this page. If it went through, a receipt comes by mail.',
};

/** Instead of those that say what was given back, where some of it has not arrived. */
const notArrived: Title = {
  icon: 'lost',
  tone: 'warn',
  title: 'A refund has not reached you',
  lead: 'Your bank did not take it. We have been told, and see to it. Contact us if it takes long.',
};

/** The first line of an order's page. */
export function titleOf(
  status: string,
  { isUnknown, isAtMostOnce, isInDoubt, isReturned, failedRefunds }: Stand,
): Title {
  if (status === 'paying' && isUnknown) return unsettled;
  if (failedRefunds.length > 0 && /refunded$/.test(status)) return notArrived;
  const known = (isInDoubt ? inDoubt[status] : undefined) ?? titles[status];
  if (!known) return { icon: 'receipt', tone: 'muted', title: 'Your order', lead: '' };
  const isPromised = status === 'paying' && !isInDoubt && isAtMostOnce;
  if (isPromised) return { ...known, lead: `Your card is charged at most once. ${known.lead}` };
  return { ...known, lead: (isReturned && returned[status]) || known.lead };
}
