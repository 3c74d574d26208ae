import { KeepFresh } from '../../components/shop/keep-fresh.tsx';
import { ReceivedCounts } from '../../components/shop/received-counts.tsx';
import { ReceivedTable } from '../../components/shop/received-table.tsx';
import { Empty } from '../../components/ui/empty.tsx';
import { PageTitle } from '../../components/ui/page-title.tsx';
import { TextLink } from '../../components/ui/text-link.tsx';
import { countReceived, listReceived } from '../../shop/receiver/receiver.ts';
import { currentPrincipal } from '../../shop/session/visitor.ts';

export const metadata = { title: 'Receiver' };

const LIMIT = 100;

export default async function ReceiverPage() {
  const who = await currentPrincipal();
  const [counts, rows] = await Promise.all([countReceived(), listReceived(who, LIMIT)]);
  return (
    <>
      <PageTitle lead="What a partner’s system has been told of the shop’s orders. Deliveries may repeat; each event takes effect once.">
        Receiver
      </PageTitle>
      <ReceivedCounts counts={counts} />
      {rows.length > 0 ? (
        <ReceivedTable rows={rows} now={Date.now()} />
      ) : (
        <Empty icon="signal">
          <div className="grid gap-1">
            <p className="text-lg font-medium">Nothing has come yet of your own orders</p>
            <p className="text-muted">An order shows here a moment after it is paid.</p>
          </div>
          <TextLink href="/">Place an order in the shop</TextLink>
        </Empty>
      )}
      <p className="mt-4 text-sm text-muted">
        Listed are your own orders’ events, the newest {LIMIT}; counted are all.
      </p>
      <KeepFresh />
    </>
  );
}
