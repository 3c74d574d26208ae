import { IdempotencyKeyField, type IdempotentSubmit } from 'oncekit/react';
import type { PlacedOrder } from '../../shop/orders/orders.ts';
import { IdempotentSubmitButton } from '../form/idempotent-submit-button.tsx';
import type { ButtonVariant } from '../ui/button.tsx';
import { type Choice, GoodsFields } from './goods-fields.tsx';
import { OrderAnswer } from './order-answer.tsx';

interface Props {
  submit: IdempotentSubmit<PlacedOrder>;
  products: readonly Choice[];
  /** The page that it stands on, which brings a new key. */
  href: string;
  /** The words of the button. */
  label: string;
  variant?: ButtonVariant;
}

/** The small order form of the lab and of the examples, around what its page has made of `useIdempotentSubmit`. */
export function OrderForm({ submit, products, href, label, variant }: Props) {
  const refused = submit.result?.ok === false ? submit.result : null;
  return (
    <form {...submit.formProps} noValidate className="grid gap-4">
      <IdempotencyKeyField {...submit.fieldProps} />
      <GoodsFields isLinked products={products} errors={refused?.fieldErrors} values={refused?.values} />
      <IdempotentSubmitButton submit={submit} variant={variant} busyWords="Ordering…">
        {label}
      </IdempotentSubmitButton>
      <OrderAnswer submit={submit} href={href} />
    </form>
  );
}
