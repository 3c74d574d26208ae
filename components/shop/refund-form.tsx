'use client';

import { ErrorSummary, IdempotencyKeyField, type SubmitAction, SubmitStatus, useIdempotentSubmit } from 'oncekit/react';
import { useEffect, useRef } from 'react';
import type { RefundMade } from '../../shop/payments/refunds.ts';
import { IdempotentSubmitButton } from '../form/idempotent-submit-button.tsx';
import { buttonClass } from '../ui/button.tsx';
import { Field } from '../ui/field.tsx';
import { formatCents } from '../ui/money.ts';
import { Panel } from '../ui/panel.tsx';
import { REFUND_WORDS } from './refund-words.ts';

interface Props {
  action: SubmitAction<RefundMade>;
  initialKey: string;
  orderId: string;
  /** The amount that is left to give back. */
  refundableCents: number;
}

/** Gives back all or part of what was paid. Not there when nothing is left, but for what there is still to say. */
export function RefundForm({ action, initialKey, orderId, refundableCents }: Props) {
  const submit = useIdempotentSubmit(action, { intent: `refund:${orderId}`, initialKey });
  const { result, status } = submit;
  const refused = result && !result.ok ? result : null;
  const tooMuch = refused?.reason === 'exceeds_payment' ? refused : null;
  const amount = useRef<HTMLInputElement>(null);
  useEffect(() => {
    // Not what a page finds out by itself.
    if (tooMuch && amount.current?.form?.contains(document.activeElement)) amount.current.focus();
  }, [tooMuch]);
  if (refundableCents === 0 && status === 'idle') return null;
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
              ref={amount}
              id="amount"
              label={`Amount in dollars (up to ${formatCents(refundableCents)})`}
              name="amount"
              inputMode="decimal"
              autoComplete="off"
              required
              errors={tooMuch ? [tooMuch.message] : refused?.fieldErrors?.amount}
              defaultValue={String(refused?.values?.amount ?? (refundableCents / 100).toFixed(2))}
            />
            <IdempotentSubmitButton submit={submit} variant="quiet" busyWords="Giving it back…">
              Get refund
            </IdempotentSubmitButton>
          </div>
        ) : null}
        <div className="ends-done grid gap-3">
          <SubmitStatus submit={submit} messages={REFUND_WORDS}>
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
