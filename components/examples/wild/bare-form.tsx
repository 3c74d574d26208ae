import { Button } from '../../ui/button.tsx';
import { Field } from '../../ui/field.tsx';

interface Props {
  action: (form: FormData) => Promise<void>;
  quantity?: number | undefined;
}

/** The twin of a form: the same order, without the kit. */
export function BareForm({ action, quantity = 1 }: Props) {
  return (
    <form action={action} className="grid gap-4">
      <input type="hidden" name="sku" value="mug" />
      <Field label="Quantity" name="quantity" inputMode="numeric" defaultValue={quantity} />
      <div>
        <Button variant="quiet">Order without oncekit</Button>
      </div>
    </form>
  );
}
