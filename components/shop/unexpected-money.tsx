import type { UnexpectedMoney as Money } from '../../shop/payments/unexpected-money.ts';
import { ActKey, type FormAction } from '../admin/keys/key-form.tsx';
import { keyHref } from '../admin/shared/addresses.ts';
import { Confirm } from '../admin/shared/confirm.tsx';
import { Moment } from '../admin/shared/moment.tsx';
import { SubmitButton } from '../admin/shared/submit-button.tsx';
import { Detail, Details } from '../ui/details.tsx';
import { Notice } from '../ui/notice.tsx';
import { Panel } from '../ui/panel.tsx';
import { TextLink } from '../ui/text-link.tsx';
import { amountIn } from './amount-in.ts';
import { OrderStatusBadge } from './order-status-badge.tsx';

interface Props {
  money: Money;
  now: number;
  /** The operation that the order comes from; undefined for one of none. */
  operation: string | undefined;
  seen: FormAction;
  /** None where it cannot be given back from here. */
  refund: FormAction | undefined;
  /** The page of the list, to which its forms lead back. */
  page: number;
}

/** The words of each kind, behind the amount. */
const words: Record<string, string> = {
  'payment.unexpected': 'was paid, and no order expects it',
  'refund.unexpected': 'was given back, and no refund expects it',
  'refund.reversed': 'did not reach the customer: a refund that was booked has failed since',
  'order.disputed': 'is disputed: the customer’s bank decides about it',
};

/** Money that nobody expected: whose it is, where it is, and what a person can do about it. */
export function UnexpectedMoney({ money, now, operation, seen, refund, page }: Props) {
  const { id, action, at, tenant, principal, data, order } = money;
  const reference = data.paymentIntent ?? data.providerRefund ?? data.dispute;
  const { amountCents, currency = 'usd' } = data;
  const amount = amountCents === undefined ? 'An unknown amount' : amountIn(currency, amountCents);
  const title = `money-${id}`;
  const isUnderWay = money.refund?.status === 'pending';
  const refundHref =
    money.refund && keyHref({ tenant, principal, operation: 'refund.unexpected', key: money.refund.idempotencyKey });
  return (
    <Panel aria-labelledby={`${title} ${title}-at`} data-money={action}>
      <h2 id={title} className="mb-4 text-lg font-semibold">
        <span className="tabular-nums">{amount}</span> {words[action] ?? action}
      </h2>
      <Details>
        <Detail name="Heard">
          <Moment at={at} now={now} />
        </Detail>
        <Detail name="Order">
          <TextLink href={`/orders/${order.id}`} prefetch={false} className="break-all">
            {order.id}
          </TextLink>{' '}
          <OrderStatusBadge status={order.status} />
        </Detail>
        <Detail name="Customer">
          <span className="break-all">{[order.customerName, order.email].filter(Boolean).join(', ') || principal}</span>
        </Detail>
        {reference ? (
          <Detail name="At the provider">
            <code id={`${title}-at`} className="font-mono text-sm break-all select-all">
              {String(reference)}
            </code>
          </Detail>
        ) : null}
        {data.reason ? <Detail name="Reason">{data.reason.replaceAll('_', ' ')}</Detail> : null}
        {operation && order.idempotencyKey ? (
          <Detail name="Key">
            <TextLink
              href={keyHref({ tenant, principal, operation, key: order.idempotencyKey })}
              prefetch={false}
              className="font-mono text-sm break-all"
            >
              {order.idempotencyKey}
            </TextLink>
          </Detail>
        ) : null}
      </Details>
      {money.refund && refundHref ? (
        <div className="mt-4">
          <Notice tone={isUnderWay ? 'info' : 'warn'}>
            {isUnderWay ? 'It is being given back. ' : 'A refund of it came to nothing. '}
            <TextLink href={refundHref} prefetch={false}>
              What became of it
            </TextLink>
          </Notice>
        </div>
      ) : null}
      {isUnderWay ? null : (
        <div className="mt-4">
          {action === 'payment.unexpected' && !refund ? (
            <p className="max-w-prose text-muted">
              It cannot be given back here: its order is still being paid, or is paid with it, or it is in another
              currency.
            </p>
          ) : null}
          {refund ? (
            <Confirm
              title="Refund it…"
              words={<p>All of it goes back to where it came from, once. The order stays as it is.</p>}
            >
              <Act action={refund} record={id} page={page} label={`Refund ${amount}`} />
            </Confirm>
          ) : null}
          <Confirm
            title="Seen to…"
            words={
              <p>Nothing is done here. Say so when you have put right at the provider what was wrong, if anything.</p>
            }
          >
            <Act action={seen} record={id} page={page} label="I have seen to it" />
          </Confirm>
        </div>
      )}
    </Panel>
  );
}

function Act({ action, record, page, label }: { action: FormAction; record: string; page: number; label: string }) {
  return (
    <form action={action.send}>
      <ActKey value={action.actKey} />
      <input type="hidden" name="record" value={record} />
      <input type="hidden" name="page" value={page} />
      <SubmitButton variant="quiet">{label}</SubmitButton>
    </form>
  );
}
