import { issueKey } from 'oncekit/next';
import { ExampleLayout } from '../../../components/examples/example-layout.tsx';
import { HookForm } from '../../../components/examples/hook-form.tsx';
import { OrderCount } from '../../../components/examples/order-count.tsx';
import { countExampleOrders, hookFormOrder } from '../../../shop/lab/examples.ts';
import { currentPrincipal } from '../../../shop/session/visitor.ts';
import { listChoices } from '../choices.ts';
import { placeOrder } from './actions.ts';

export const metadata = { title: 'react-hook-form' };

const parts = [
  'react-hook-form holds the fields, validates them in the browser and shows what the server refused.',
  'oncekit swallows the second click, sends, retries under the same key and knows what became of it.',
  'The browser posts the form by itself where JavaScript is off or has not loaded yet.',
];

export default async function HookFormPage() {
  const count = await countExampleOrders(hookFormOrder.name, await currentPrincipal());
  return (
    <ExampleLayout title="react-hook-form" lead="An order form with client-side validation." parts={parts}>
      <HookForm action={placeOrder} initialKey={await issueKey(hookFormOrder)} products={await listChoices()} />
      <OrderCount count={count} />
    </ExampleLayout>
  );
}
