import { issueKey } from 'oncekit/next';
import { ExampleLayout } from '../../../components/examples/example-layout.tsx';
import { QueryForm } from '../../../components/examples/query-form.tsx';
import { countExampleOrders, queryOrder } from '../../../shop/lab/examples.ts';
import { currentPrincipal } from '../../../shop/session/visitor.ts';
import { listChoices } from '../choices.ts';
import { placeOrder } from './actions.ts';

export const metadata = { title: 'TanStack Query' };

const parts = [
  'TanStack Query runs the submit as a mutation and asks for the number of orders again once there is an answer.',
  'oncekit alone retries, under the same key, and waits while the browser is offline.',
  'The key belongs to the intent: however often the mutation is called, there is one until its answer is known.',
];

export default async function QueryPage() {
  const count = await countExampleOrders(queryOrder.name, await currentPrincipal());
  return (
    <ExampleLayout title="TanStack Query" lead="An order form whose submit is a mutation." parts={parts}>
      <QueryForm
        action={placeOrder}
        initialKey={await issueKey(queryOrder)}
        products={await listChoices()}
        count={count}
      />
    </ExampleLayout>
  );
}
