import { issueKey } from 'oncekit/next';
import { ExampleLayout } from '../../../components/examples/example-layout.tsx';
import { LanguagesForm } from '../../../components/examples/languages-form.tsx';
import { OrderCount } from '../../../components/examples/order-count.tsx';
import { languagesOrder } from '../../../shop/lab/example-languages.ts';
import { countExampleOrders } from '../../../shop/lab/examples.ts';
import { currentPrincipal } from '../../../shop/session/visitor.ts';
import { listChoices } from '../choices.ts';
import { placeOrder } from './actions.ts';

export const metadata = { title: 'Two languages' };

const parts = [
  'The German words replace the whole table. English replaces one key, for the number of the order.',
  'A word may be a function of the answer: of its data, its code, the reason of a refusal.',
  'The language may change at any time, also while the form is sent.',
];

export default async function LanguagesPage() {
  const count = await countExampleOrders(languagesOrder.name, await currentPrincipal());
  return (
    <ExampleLayout title="Two languages" lead="The same form, in English and in German." parts={parts}>
      <LanguagesForm action={placeOrder} initialKey={await issueKey(languagesOrder)} products={await listChoices()} />
      <OrderCount count={count} />
    </ExampleLayout>
  );
}
