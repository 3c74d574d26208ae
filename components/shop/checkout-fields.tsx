import type { PaymentChoice } from '../../shop/payments/payment-methods.ts';
import { Field, SelectField } from '../ui/field.tsx';

interface Props {
  paymentChoices: readonly PaymentChoice[];
  errors: Record<string, string[]> | undefined;
  /** The entered values; they fill the form again on the answer page of a native submit. */
  values: Record<string, string | string[]> | undefined;
}

export function CheckoutFields({ paymentChoices, errors = {}, values = {} }: Props) {
  const field = (name: string) => ({
    id: name,
    name,
    required: true,
    errors: errors[name],
    defaultValue: values[name],
  });
  return (
    <>
      <fieldset className="grid gap-4 sm:grid-cols-2">
        <legend className="mb-3 text-lg font-semibold">Where it goes</legend>
        <Field label="Name" autoComplete="name" {...field('name')} />
        <Field label="Email" type="email" autoComplete="email" {...field('email')} />
        <Field label="Street and number" autoComplete="address-line1" className="sm:col-span-2" {...field('line1')} />
        <Field label="City" autoComplete="address-level2" {...field('city')} />
        <Field label="Postal code" autoComplete="postal-code" {...field('postal_code')} />
        <Field label="Country" autoComplete="country-name" {...field('country')} />
      </fieldset>
      <fieldset className="grid gap-4">
        <legend className="mb-3 text-lg font-semibold">How you pay</legend>
        <SelectField label="Payment method" {...field('payment_method')}>
          {paymentChoices.map(({ value, label }) => (
            <option key={value} value={value}>
              {label}
            </option>
          ))}
        </SelectField>
        <p className="-mt-2 text-sm text-muted">A test card. No real money moves.</p>
      </fieldset>
    </>
  );
}
