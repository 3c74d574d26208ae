import type { ComponentProps, ReactNode } from 'react';
import type { Parcel } from '../../shop/lab/parcel-schema.ts';
import type { Choice } from '../lab/goods-fields.tsx';
import { Button } from '../ui/button.tsx';
import { SelectField } from '../ui/field.tsx';

/** The fields of a parcel, as each library's example shows them. */

// Not from the schema: it would bring zod into the browser.
const EXTRAS = { 'gift-wrapped': 'Gift-wrapped', fragile: 'Fragile', insured: 'Insured' } satisfies Record<
  Parcel['extras'][number],
  string
>;
const extras = Object.keys(EXTRAS) as Parcel['extras'];

export function Rows({ errors, children }: { errors?: string | undefined; children: ReactNode }) {
  return (
    <fieldset className="grid gap-3">
      <legend className="mb-1 text-sm font-medium">Products</legend>
      {children}
      {errors ? <p className="text-sm text-bad">{errors}</p> : null}
    </fieldset>
  );
}

export function Row({ children }: { children: ReactNode }) {
  return (
    <div className="grid grid-cols-[minmax(0,1fr)_5.5rem] items-start gap-3 rounded-lg border border-line p-3 sm:grid-cols-[minmax(0,1fr)_6rem_auto]">
      {children}
    </div>
  );
}

export function ProductField({
  products,
  ...select
}: ComponentProps<'select'> & { products: readonly Choice[]; errors?: readonly string[] | undefined }) {
  return (
    <SelectField label="Product" {...select}>
      {products.map(({ sku, name }) => (
        <option key={sku} value={sku}>
          {name}
        </option>
      ))}
    </SelectField>
  );
}

export function AddRow(button: ComponentProps<'button'>) {
  return (
    <div>
      <Button variant="quiet" type="button" {...button}>
        Add a product
      </Button>
    </div>
  );
}

export function RemoveRow(button: ComponentProps<'button'>) {
  return (
    <div className="col-span-full sm:col-span-1 sm:pt-6">
      <Button variant="quiet" type="button" {...button}>
        Remove
      </Button>
    </div>
  );
}

export function CheckField({ label, ...input }: ComponentProps<'input'> & { label: string }) {
  return (
    <label className="flex min-h-11 items-center gap-3 text-sm font-medium sm:min-h-10">
      <input type="checkbox" className="size-5 accent-accent" {...input} />
      {label}
    </label>
  );
}

export function ExtrasField(select: ComponentProps<'select'> & { errors?: readonly string[] | undefined }) {
  return (
    <SelectField
      label="Extras"
      multiple
      size={extras.length}
      className="[&_select]:h-auto sm:[&_select]:h-auto"
      {...select}
    >
      {extras.map((extra) => (
        <option key={extra} value={extra}>
          {EXTRAS[extra]}
        </option>
      ))}
    </SelectField>
  );
}

/** The chosen options, as values of the schema. */
export function chosenExtras({ selectedOptions }: HTMLSelectElement): Parcel['extras'] {
  const chosen = Array.from(selectedOptions, ({ value }) => value);
  return extras.filter((extra) => chosen.includes(extra));
}
