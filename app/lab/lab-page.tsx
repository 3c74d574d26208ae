import { headers } from 'next/headers';
import { issueKey } from 'oncekit/next';
import { LabBoard } from '../../components/lab/lab-board.tsx';
import { OrderCounts } from '../../components/lab/order-counts.tsx';
import { PresetNav } from '../../components/lab/preset-nav.tsx';
import { Proof } from '../../components/lab/proof.tsx';
import { PageTitle } from '../../components/ui/page-title.tsx';
import { TextLink } from '../../components/ui/text-link.tsx';
import { createOrder } from '../../shop/api/order-create.ts';
import { labOrder } from '../../shop/lab/order.ts';
import { PRESETS, type Preset } from '../../shop/lab/presets.ts';
import { isLabOpen, proxiedOrigin } from '../../shop/lab/proxy.ts';
import { reportOf } from '../../shop/lab/report.ts';
import { currentRun } from '../../shop/lab/run.ts';
import { countLabOrders } from '../../shop/orders/orders.ts';
import { currentPrincipal } from '../../shop/session/visitor.ts';
import { listChoices } from '../examples/choices.ts';
import { orderInPhases, orderWithKit, orderWithoutKit } from './actions.ts';

/** The lab with one preset. `path`: where it stands, since forms post to their own page. */
export async function LabPage({ preset, path }: { preset: Preset; path: string }) {
  const principal = await currentPrincipal();
  const begun = await currentRun();
  const run = begun?.preset === preset.slug ? begun : null;
  const [products, counts, report] = await Promise.all([
    listChoices(),
    countLabOrders(principal),
    reportOf(principal, run),
  ]);
  const operation = preset.isInPhases ? createOrder : labOrder;
  const origin = proxiedOrigin((await headers()).get('host'));
  return (
    <>
      <PageTitle lead="The same form twice, the same faults, at the same moment. Once without oncekit, once with it.">
        Fault lab
      </PageTitle>
      <PresetNav presets={PRESETS} current={preset.slug} />
      <LabBoard
        key={preset.slug}
        preset={preset}
        path={path}
        elsewhere={origin && `${origin}${path}`}
        products={products}
        intent={`${operation.name}:${path === '/lab' ? 'lab' : preset.slug}`}
        initialKey={await issueKey(operation)}
        actions={{ kit: preset.isInPhases ? orderInPhases : orderWithKit, plain: orderWithoutKit }}
        run={run?.id ?? null}
        report={report}
      />
      {isLabOpen() ? <Proof /> : null}
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
