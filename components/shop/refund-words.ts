import type { Messages } from 'oncekit/react';

/** The refund's words for a refund on its way: the kit's states, as a customer sees them. */
export const REFUND_WORDS: Partial<Messages> = {
  executing: 'Giving your money back…',
  retrying: 'No answer yet. Trying again: your money is given back once.',
  checking: 'Finding out whether your refund got through…',
  offline: 'You are offline. Your refund is asked for when you are back online.',
  unknown:
    'We have no answer, so we do not know whether your refund got through. It is given back once, whatever you do next.',
  absent: 'This has not reached us so far. Ask for it again: it is given back once.',
  unsettled:
    'Your refund may have gone through. Please do not ask for it again: we are finding out. You can close this page.',
  failed: (outcome) =>
    outcome?.ok === false && outcome.reason === 'marked_failed'
      ? 'We could not confirm this refund. If it does not reach you, ask for it again.'
      : '',
  hasSucceeded: 'You get back',
  recovered: 'You have already got back',
};
