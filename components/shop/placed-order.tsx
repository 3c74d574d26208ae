import type { CartOrder } from '../../shop/orders/carts.ts';
import type { PaymentChoice } from '../../shop/payments/payment-methods.ts';
import { Icon } from '../ui/icon.tsx';
import { Panel } from '../ui/panel.tsx';
import { TextLink } from '../ui/text-link.tsx';
import { takeLostFocus } from './take-lost-focus.ts';

interface Props {
  orderId: string;
  /** Null until the page has heard of it. */
  order: CartOrder | null;
  /** The fields as they were when the order was heard of; null where nobody has touched them here. */
  entered: FormData | null;
  paymentChoices: readonly PaymentChoice[];
}

const FIELDS = {
  name: 'Name',
  email: 'Email',
  line1: 'Street and number',
  city: 'City',
  postal_code: 'Postal code',
  country: 'Country',
  payment_method: 'Payment method',
};

/** In the place of the form: what was ordered, and what was entered behind it and is not in the order. */
export function AlreadyPlaced({ orderId, order, entered, paymentChoices }: Props) {
  const named = (field: string, value: string) =>
    field === 'payment_method' ? (paymentChoices.find((choice) => choice.value === value)?.label ?? value) : value;
  const changed = Object.entries(FIELDS).flatMap(([field, label]) => {
    const [was, now] = [order?.entered[field] ?? '', String(entered?.get(field) ?? '').trim()];
    return order && now && now !== was ? [{ field, label, was: named(field, was), now: named(field, now) }] : [];
  });
  const isEdited = changed.length > 0;
  return (
    <Panel
      role="status"
      data-state="hasSucceeded"
      className="grid justify-items-start gap-3"
      tabIndex={-1}
      ref={takeLostFocus}
    >
      <p className="flex items-center gap-2 text-lg font-semibold text-good">
        <Icon name="check" />
        This order is already placed
      </p>
      {isEdited ? (
        <>
          <p>It is placed as you sent it first. What you changed after that was not sent:</p>
          <ul className="grid gap-1">
            {changed.map(({ field, label, was, now }) => (
              <li key={field}>
                {label}: <strong className="font-medium">{was}</strong> is in the order, not {now}.
              </li>
            ))}
          </ul>
          <p>
            Is that wrong? Open the order: you can get your money back there, and order anew. There is no need to pay
            this one again.
          </p>
        </>
      ) : (
        <p>There is no need to send or to pay it again.</p>
      )}
      <p className="flex flex-wrap gap-x-6 gap-y-2">
        <OrderLink id={orderId} />
        <TextLink href="/">Start a new order</TextLink>
      </p>
    </Panel>
  );
}

export function OrderLink({ id }: { id: string }) {
  return <TextLink href={`/orders/${id}`}>View the order</TextLink>;
}
