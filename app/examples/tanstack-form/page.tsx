import { issueKey } from 'oncekit/next';
import { ExampleLayout } from '../../../components/examples/example-layout.tsx';
import { OrderCount } from '../../../components/examples/order-count.tsx';
import { TanstackForm } from '../../../components/examples/tanstack-form.tsx';
import { countExampleOrders } from '../../../shop/lab/examples.ts';
import { tanstackFormOrder } from '../../../shop/lab/parcel-order.ts';
import { currentPrincipal } from '../../../shop/session/visitor.ts';
import { listChoices } from '../choices.ts';
import { placeOrder } from './actions.ts';

export const metadata = { title: 'TanStack Form' };

const parts = [
  'TanStack Form holds the values and the rows, and gives them to the kit.',
  'oncekit sends the values as they are, and repeats them under the same key.',
  'What the server refuses stands at its field: at most ten of a product.',
];

export default async function TanstackFormPage() {
  const count = await countExampleOrders(tanstackFormOrder.name, await currentPrincipal());
  return (
    <ExampleLayout title="TanStack Form" lead="Rows, a checkbox, a number, a day and several choices." parts={parts}>
      <TanstackForm action={placeOrder} initialKey={await issueKey(tanstackFormOrder)} products={await listChoices()} />
      <OrderCount count={count} />
    </ExampleLayout>
  );
}
