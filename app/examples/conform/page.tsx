import { issueKey } from 'oncekit/next';
import { ConformForm } from '../../../components/examples/conform-form.tsx';
import { ExampleLayout } from '../../../components/examples/example-layout.tsx';
import { OrderCount } from '../../../components/examples/order-count.tsx';
import { countExampleOrders } from '../../../shop/lab/examples.ts';
import { conformOrder } from '../../../shop/lab/parcel-order.ts';
import { currentPrincipal } from '../../../shop/session/visitor.ts';
import { listChoices } from '../choices.ts';
import { placeOrder } from './actions.ts';

export const metadata = { title: 'conform' };

const parts = [
  'conform validates in the browser by the schema, and names the fields.',
  'oncekit sends the form; the schema says how its text is read.',
  'What the server refuses stands at its field, also without JavaScript: at most ten of a product.',
];

export default async function ConformPage() {
  const count = await countExampleOrders(conformOrder.name, await currentPrincipal());
  return (
    <ExampleLayout title="conform" lead="Rows, a checkbox, a number, a day and several choices." parts={parts}>
      <ConformForm action={placeOrder} initialKey={await issueKey(conformOrder)} products={await listChoices()} />
      <OrderCount count={count} />
    </ExampleLayout>
  );
}
