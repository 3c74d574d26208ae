import { MessageBoxes } from '../../../components/admin/messages/message-boxes.tsx';
import { MessageDeadLetters } from '../../../components/admin/messages/message-dead-letters.tsx';
import { MessageFilters } from '../../../components/admin/messages/message-filters.tsx';
import { MessageNotice } from '../../../components/admin/messages/message-notice.tsx';
import { MessageStops } from '../../../components/admin/messages/message-stops.tsx';
import { MessageTiles } from '../../../components/admin/messages/message-tiles.tsx';
import { LiveUpdates } from '../../../components/admin/shared/live-updates.tsx';
import { PageTitle } from '../../../components/ui/page-title.tsx';
import { renderedAt } from '../../../shop/admin/clock.ts';
import { knownPeers, messagesAdmin } from '../../../shop/admin/messages.ts';
import { messageActs } from '../../../shop/admin/messages-acts.ts';
import { peersOf, readMessagesQuery } from '../../../shop/admin/messages-query.ts';
import { ofAllTenants } from '../../../shop/admin/of-all-tenants.ts';
import { Header, PROBE } from '../header.tsx';
import { type Params, requireAdmin } from '../require-admin.ts';
import { requeueAllSent, resumeDestination } from './actions.ts';
import { ReceivedList, SentList } from './lists.tsx';

export const metadata = { title: 'Messages' };

export default async function MessagesPage({ searchParams }: { searchParams: Promise<Params> }) {
  const params = await searchParams;
  const { name: actor } = ofAllTenants(await requireAdmin('/admin/messages', params));
  const query = readMessagesQuery(params);
  const messages = messagesAdmin();
  const [sent, received] = await Promise.all([messages.outbox.overview(), messages.inbox.overview()]);
  const open = { outbox: sent.open, inbox: received.open };
  const pending = (destination: string) =>
    sent.open.find(({ peer, state }) => peer === destination && state === 'pending')?.count ?? 0;
  const now = renderedAt();
  const actKey = await messageActs.newKey(actor);
  return (
    <>
      <Header current="messages" />
      <div className="flex flex-wrap items-start justify-between gap-x-6">
        <PageTitle>Messages</PageTitle>
        <div className="mb-6">
          <LiveUpdates probe={PROBE} />
        </div>
      </div>
      <MessageNotice name={params.notice} />
      <MessageBoxes current={query.box} open={open} stops={sent.stops} />
      <MessageTiles query={query} open={open[query.box]} now={now} />
      {query.box === 'outbox' ? (
        <>
          <MessageStops stops={sent.stops} waiting={pending} now={now} resume={{ send: resumeDestination, actKey }} />
          <MessageDeadLetters open={sent.open} requeueAll={{ send: requeueAllSent, actKey }} />
        </>
      ) : null}
      <MessageFilters query={query} peers={peersOf(query, knownPeers[query.box], open[query.box])} />
      {query.box === 'outbox' ? (
        <SentList query={query} stops={sent.stops} now={now} />
      ) : (
        <ReceivedList query={query} now={now} />
      )}
    </>
  );
}
