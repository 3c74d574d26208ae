import { issueKey } from 'oncekit/next';
import { KitForm } from '../../components/lab/kit-form.tsx';
import { OrderCounts } from '../../components/lab/order-counts.tsx';
import { PlainForm } from '../../components/lab/plain-form.tsx';
import { PageTitle } from '../../components/ui/page-title.tsx';
import { Panel } from '../../components/ui/panel.tsx';
import { TextLink } from '../../components/ui/text-link.tsx';
import { labOrder } from '../../lib/demo/lab.ts';
import { countLabOrders } from '../../lib/demo/orders.ts';
import { listProducts } from '../../lib/demo/products.ts';
import { currentPrincipal } from '../../lib/demo/visitor.ts';
import { orderWithKit, orderWithoutKit } from './actions.ts';

export const metadata = { title: 'Lab' };

export default async function LabPage() {
  const principal = await currentPrincipal();
  const [products, counts] = await Promise.all([listProducts(), countLabOrders(principal)]);
  // What there is most of comes first: repeated clicks are to meet the forms' limits, not the stock's.
  const choices = products.toSorted((a, b) => b.stock - a.stock).map(({ sku, name, stock }) => ({ sku, name, stock }));
  return (
    <>
      <PageTitle lead="Two forms that do the same. Click each one twice, quickly, and compare the counts below.">
        Fault lab
      </PageTitle>
      <div className="grid gap-6 md:grid-cols-2">
        <Panel aria-labelledby="with-title">
          <h2 id="with-title" className="mb-4 text-lg font-semibold">
            With oncekit
          </h2>
          <KitForm action={orderWithKit} initialKey={await issueKey(labOrder)} products={choices} />
        </Panel>
        <Panel aria-labelledby="without-title">
          <h2 id="without-title" className="mb-4 text-lg font-semibold">
            Without
          </h2>
          <PlainForm action={orderWithoutKit} products={choices} />
        </Panel>
      </div>
      <OrderCounts counts={counts} />
      <p className="mt-8">
        <TextLink href="/examples">The same with react-hook-form, TanStack Query and next-safe-action</TextLink>
      </p>
      <p className="mt-3">
        <TextLink href="/receiver" prefetch={false}>
          What other systems are told, and how often
        </TextLink>
      </p>
    </>
  );
}
