import { redirect } from 'next/navigation';
import { withQuery } from '../../../components/admin/shared/addresses.ts';
import { FormNotice } from '../../../components/admin/shared/form-notice.tsx';
import { LiveUpdates } from '../../../components/admin/shared/live-updates.tsx';
import { Pager } from '../../../components/admin/shared/pager.tsx';
import { UnexpectedMoney } from '../../../components/shop/unexpected-money.tsx';
import { Empty } from '../../../components/ui/empty.tsx';
import { PageTitle } from '../../../components/ui/page-title.tsx';
import { renderedAt } from '../../../shop/admin/clock.ts';
import { paymentActs, refundKey } from '../../../shop/admin/payments-acts.ts';
import { pageOf, readAuditQuery } from '../../../shop/admin/query.ts';
import { CURRENCY } from '../../../shop/payments/charge.ts';
import { operationOf } from '../../../shop/payments/events/conclusion.ts';
import { isReturnable, listUnexpectedMoney } from '../../../shop/payments/unexpected-money.ts';
import { Header, PROBE } from '../header.tsx';
import { type Params, requireAdmin } from '../require-admin.ts';
import { refundMoney, seeToMoney } from './actions.ts';

export const metadata = { title: 'Money' };

const notices = {
  refunded: { tone: 'good', words: 'Given back, once.' },
  seen: { tone: 'good', words: 'Recorded: you have seen to it.' },
  under_way: { tone: 'warn', words: 'It is being given back, and what came of it is not known yet. See below.' },
  refused: { tone: 'bad', words: 'It was not given back. What became of it is below.' },
  changed: { tone: 'warn', words: 'Somebody has seen to it, or it has changed since you looked. Nothing was done.' },
  stale: { tone: 'warn', words: 'This page was open for too long. Nothing was done; ask for it again.' },
  invalid: { tone: 'bad', words: 'This form cannot be read. Nothing was done.' },
  unsure: { tone: 'warn', words: 'This could not be seen through. Look at what is below, then ask for it again.' },
} as const;

/** Lists money that nobody expected and nobody has seen to, newest first. */
export default async function PaymentsPage({ searchParams }: { searchParams: Promise<Params> }) {
  const params = await searchParams;
  const account = await requireAdmin('/admin/payments', params);
  const { page } = readAuditQuery(params);
  const now = renderedAt();
  const { rows, hasMore } = await listUnexpectedMoney(account.tenant, pageOf(page));
  // The last one of a page has been seen to.
  if (rows.length === 0 && page > 1)
    redirect(withQuery('/admin/payments', { page: page - 1, notice: String(params.notice ?? '') }));
  const actKey = await paymentActs.newKey(account.name);
  const refundKeys = await Promise.all(rows.map(refundKey));
  return (
    <>
      <Header current="payments" />
      <div className="flex flex-wrap items-start justify-between gap-x-6">
        <PageTitle lead="What the provider says, and the shop’s books do not. Newest first, until somebody has seen to it.">
          Money that nobody expected
        </PageTitle>
        <div className="mb-6">
          <LiveUpdates probe={PROBE} />
        </div>
      </div>
      <FormNotice notices={notices} name={params.notice} />
      {rows.length === 0 ? (
        <Empty icon="check">
          <p className="font-medium">Nobody has heard of any, or somebody has seen to all of it.</p>
        </Empty>
      ) : (
        <div className="grid grid-cols-[minmax(0,1fr)] gap-6">
          {rows.map((money, n) => (
            <UnexpectedMoney
              key={money.id}
              money={money}
              now={now}
              page={page}
              operation={operationOf('order', money.order.source)}
              seen={{ send: seeToMoney, actKey }}
              refund={isReturnable(money, CURRENCY) ? { send: refundMoney, actKey: refundKeys[n] ?? '' } : undefined}
            />
          ))}
        </div>
      )}
      <Pager page={page} hasMore={hasMore} href={(other) => withQuery('/admin/payments', { page: other })} />
    </>
  );
}
