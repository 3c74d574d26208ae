import { issueKey } from 'oncekit/next';
import { ExampleLayout } from '../../../components/examples/example-layout.tsx';
import { OrderCount } from '../../../components/examples/order-count.tsx';
import { SafeActionForm } from '../../../components/examples/safe-action-form.tsx';
import { countExampleOrders, safeActionOrder } from '../../../shop/lab/examples.ts';
import { currentPrincipal } from '../../../shop/session/visitor.ts';
import { listChoices } from '../choices.ts';
import { placeOrder } from './actions.ts';

export const metadata = { title: 'next-safe-action' };

const parts = [
  'next-safe-action runs your middleware: who may do it, logging, metadata.',
  'oncekit stands inside, around the handler: the transaction begins and ends there, never around next().',
  'The form is the kit’s own, and works without JavaScript.',
];

export default async function SafeActionPage() {
  const count = await countExampleOrders(safeActionOrder.name, await currentPrincipal());
  return (
    <ExampleLayout title="next-safe-action" lead="An order form whose action has middleware." parts={parts}>
      <SafeActionForm action={placeOrder} initialKey={await issueKey(safeActionOrder)} products={await listChoices()} />
      <OrderCount count={count} />
    </ExampleLayout>
  );
}
