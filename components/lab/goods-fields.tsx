import { Field, SelectField } from '../ui/field.tsx';

export type Choice = { sku: string; name: string; stock: number };

interface Props {
  products: readonly Choice[];
  errors?: Record<string, string[]> | undefined;
  values?: Record<string, string | string[]> | undefined;
}

/** The same fields in both forms. */
export function GoodsFields({ products, errors, values }: Props) {
  return (
    <>
      <SelectField
        label="Product"
        name="sku"
        errors={errors?.sku}
        defaultValue={String(values?.sku ?? products[0]?.sku ?? '')}
      >
        {products.map(({ sku, name, stock }) => (
          <option key={sku} value={sku}>
            {name} ({stock.toLocaleString('en-US')} left)
          </option>
        ))}
      </SelectField>
      <Field
        label="Quantity"
        name="quantity"
        type="number"
        inputMode="numeric"
        min={1}
        max={10}
        required
        errors={errors?.quantity}
        defaultValue={String(values?.quantity ?? 1)}
      />
    </>
  );
}
