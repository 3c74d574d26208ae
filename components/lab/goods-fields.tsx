import { Field, SelectField } from '../ui/field.tsx';

export type Choice = { sku: string; name: string; stock: number };

interface Props {
  products: readonly Choice[];
  errors?: Record<string, string[]> | undefined;
  values?: Record<string, string | string[]> | undefined;
  words?: GoodsWords;
  /** Links lead to the fields, by their names: in one form of a page. */
  isLinked?: boolean;
}

export interface GoodsWords {
  product: string;
  quantity: string;
  left: (count: number) => string;
}

const ENGLISH: GoodsWords = {
  product: 'Product',
  quantity: 'Quantity',
  left: (count) => `${count.toLocaleString('en-US')} left`,
};

/** The same fields in both forms. */
export function GoodsFields({ products, errors, values, words = ENGLISH, isLinked = false }: Props) {
  return (
    <>
      <SelectField
        id={isLinked ? 'sku' : undefined}
        label={words.product}
        name="sku"
        errors={errors?.sku}
        defaultValue={String(values?.sku ?? products[0]?.sku ?? '')}
      >
        {products.map(({ sku, name, stock }) => (
          <option key={sku} value={sku}>
            {name} ({words.left(stock)})
          </option>
        ))}
      </SelectField>
      <Field
        id={isLinked ? 'quantity' : undefined}
        label={words.quantity}
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
