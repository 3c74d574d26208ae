import { issueKey } from 'oncekit/next';
import { ExampleLayout } from '../../../components/examples/example-layout.tsx';
import { HookRowsForm } from '../../../components/examples/hook-rows-form.tsx';
import { OrderCount } from '../../../components/examples/order-count.tsx';
import { countExampleOrders } from '../../../shop/lab/examples.ts';
import { hookRowsOrder } from '../../../shop/lab/parcel-order.ts';
import { currentPrincipal } from '../../../shop/session/visitor.ts';
import { listChoices } from '../choices.ts';
import { placeOrder } from './actions.ts';

export const metadata = { title: 'react-hook-form with rows' };

const parts = [
  'react-hook-form holds the fields and the rows, and gives its values to the kit.',
  'oncekit sends the values as they are: a number is a number, a day a Date.',
  'What the server refuses stands at its field: at most ten of a product.',
];

export default async function ReactHookFormRowsPage() {
  const count = await countExampleOrders(hookRowsOrder.name, await currentPrincipal());
  return (
    <ExampleLayout
      title="react-hook-form with rows"
      lead="Rows, a checkbox, a number, a day and several choices."
      parts={parts}
    >
      <HookRowsForm action={placeOrder} initialKey={await issueKey(hookRowsOrder)} products={await listChoices()} />
      <OrderCount count={count} />
    </ExampleLayout>
  );
}
