'use client';

import { ErrorSummary, IdempotencyKeyField, type SubmitAction, SubmitStatus, useIdempotentSubmit } from 'oncekit/react';
import type { RefundMade } from '../../shop/payments/refunds.ts';
import { IdempotentSubmitButton } from '../form/idempotent-submit-button.tsx';
import { buttonClass } from '../ui/button.tsx';
import { Field } from '../ui/field.tsx';
import { formatCents } from '../ui/money.ts';
import { Panel } from '../ui/panel.tsx';

interface Props {
  action: SubmitAction<RefundMade>;
  initialKey: string;
  orderId: string;
  /** The amount that is left to give back. */
  refundableCents: number;
}

const WORDS = {
  executing: 'Giving your money back…',
  retrying: 'No answer yet. Trying again: your money is given back once.',
  checking: 'Finding out whether your refund got through…',
  offline: 'You are offline. Your refund is asked for when you are back online.',
  unknown:
    'We have no answer, so we do not know whether your refund got through. It is given back once, whatever you do next.',
  absent: 'This has not reached us so far. Ask for it again: it is given back once.',
  unsettled:
    'Your refund may have gone through. Please do not ask for it again: we are finding out. You can close this page.',
  hasSucceeded: 'You get back',
  recovered: 'You have already got back',
};

/** Gives back all or part of what was paid. Not there when nothing is left, but for what there is still to say. */
export function RefundForm({ action, initialKey, orderId, refundableCents }: Props) {
  const submit = useIdempotentSubmit(action, { intent: `refund:${orderId}`, initialKey });
  const { result, status } = submit;
  if (refundableCents === 0 && status === 'idle') return null;
  const refused = result && !result.ok ? result : null;
  const isDone = status === 'hasSucceeded';
  return (
    <Panel aria-labelledby="refund-title">
      <h2 id="refund-title" className="text-lg font-semibold">
        Get money back
      </h2>
      <p className="mt-1 mb-4 text-sm text-muted">All or a part of it. It goes back to the card you paid with.</p>
      <form {...submit.formProps} noValidate className="grid gap-4">
        <IdempotencyKeyField {...submit.fieldProps} />
        <input type="hidden" name="order_id" value={orderId} />
        {refundableCents > 0 && !isDone ? (
          <div className="grid gap-4">
            <Field
              // Another amount is left than before: what was entered is no longer meant.
              key={refundableCents}
              id="amount"
              label={`Amount in dollars (up to ${formatCents(refundableCents)})`}
              name="amount"
              inputMode="decimal"
              autoComplete="off"
              required
              errors={refused?.reason === 'exceeds_payment' ? [refused.message] : refused?.fieldErrors?.amount}
              defaultValue={String(refused?.values?.amount ?? (refundableCents / 100).toFixed(2))}
            />
            <IdempotentSubmitButton submit={submit} variant="quiet" busyWords="Giving it back…">
              Get refund
            </IdempotentSubmitButton>
          </div>
        ) : null}
        <div className="ends-done grid gap-3">
          <SubmitStatus submit={submit} messages={WORDS}>
            {({ amountCents }) => <strong className="ml-1 tabular-nums">{formatCents(amountCents)}</strong>}
          </SubmitStatus>
          <ErrorSummary submit={submit} className="error-summary" />
          {isDone && refundableCents > 0 ? (
            /* A link, for those without JavaScript: the page brings a new key. */
            <a
              href={`/orders/${orderId}`}
              className={buttonClass('quiet')}
              onClick={(event) => {
                event.preventDefault();
                submit.reset();
              }}
            >
              Get more back
            </a>
          ) : null}
        </div>
      </form>
    </Panel>
  );
}
