import { issueKey } from 'oncekit/next';
import { ExampleLayout } from '../../../components/examples/example-layout.tsx';
import { OrderCount } from '../../../components/examples/order-count.tsx';
import { TabsForm } from '../../../components/examples/tabs-form.tsx';
import { tabsOrder } from '../../../shop/lab/example-tabs.ts';
import { countExampleOrders } from '../../../shop/lab/examples.ts';
import { currentPrincipal } from '../../../shop/session/visitor.ts';
import { listChoices } from '../choices.ts';
import { placeOrder } from './actions.ts';

export const metadata = { title: 'Several tabs' };

const parts = [
  'The first tab that sends decides the key. A second one that sends meanwhile uses the same key, so there is one order.',
  'A tab that has not sent anything shows what another one has done, and sends nothing.',
  'A tab that is opened while another one sends waits for the same answer.',
];

export default async function TabsPage() {
  const count = await countExampleOrders(tabsOrder.name, await currentPrincipal());
  return (
    <ExampleLayout
      title="Several tabs"
      lead="Open this page in a second tab, and order in both. One intent, one order."
      parts={parts}
    >
      <TabsForm action={placeOrder} initialKey={await issueKey(tabsOrder)} products={await listChoices()} />
      <OrderCount count={count} />
    </ExampleLayout>
  );
}
