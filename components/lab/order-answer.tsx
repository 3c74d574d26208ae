'use client';

import { ErrorSummary, type IdempotentSubmit, SubmitStatus } from 'oncekit/react';
import type { PlacedOrder } from '../../shop/orders/orders.ts';
import { FirstAnswer, isMismatch } from '../shop/first-answer.tsx';
import { buttonClass } from '../ui/button.tsx';
import { OrderLink } from './order-link.tsx';

const PLACED = {
  executing: 'Placing your order…',
  retrying: 'No answer yet. Trying again: it is ordered once.',
  checking: 'Finding out whether your order got through…',
  unknown:
    'We have no answer, so we do not know whether your order got through. It is ordered once, whatever you do next.',
  absent: 'Your order has not reached us so far. Order again: it is ordered once.',
  unsettled:
    'Your order may have gone through. Please do not order again: we are finding out. You can close this page.',
  hasSucceeded: 'Order placed: ',
  recovered: 'This was already placed: ',
};
const REPLAYED = { ...PLACED, hasSucceeded: 'Already placed; this is the same order: ' };

/** The outcome of the submit, and the way to another order. The same for the lab and for every form library. */
export function OrderAnswer({ submit, href }: { submit: IdempotentSubmit<PlacedOrder>; href: string }) {
  const { result } = submit;
  return (
    <div className="ends-done grid min-h-20 content-start gap-3">
      <SubmitStatus submit={submit} messages={result?.ok && result.replayed ? REPLAYED : PLACED}>
        {(order) => <OrderLink id={order.id} />}
      </SubmitStatus>
      <ErrorSummary submit={submit} className="error-summary" />
      {result?.ok ? (
        /* A link, for those without JavaScript: the page brings a new key. */
        <a
          href={href}
          className={buttonClass('quiet')}
          onClick={(event) => {
            event.preventDefault();
            submit.reset();
          }}
        >
          Order another
        </a>
      ) : null}
      {isMismatch(result) ? <FirstAnswer mismatch={result} freshHref={href} /> : null}
    </div>
  );
}
