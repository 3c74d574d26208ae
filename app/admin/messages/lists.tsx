import type { Stop } from 'oncekit/admin';
import type { ReactNode } from 'react';
import { messagesHref } from '../../../components/admin/messages/message-addresses.ts';
import { ReceivedTable } from '../../../components/admin/messages/message-received-table.tsx';
import { SentTable } from '../../../components/admin/messages/message-sent-table.tsx';
import { Pager } from '../../../components/admin/shared/pager.tsx';
import { Panel } from '../../../components/ui/panel.tsx';
import { messagesAdmin } from '../../../shop/admin/messages.ts';
import { type InboxQuery, type MessagesQuery, type OutboxQuery, pageOf } from '../../../shop/admin/messages-query.ts';

/** Only for a page that has asked `requireAdmin`. */
export async function SentList({ query, stops, now }: { query: OutboxQuery; stops: readonly Stop[]; now: number }) {
  const { state, peer: destination } = query;
  const { rows, hasMore } = await messagesAdmin().outbox.list({ state, destination, ...pageOf(query) });
  return (
    <List query={query} hasMore={hasMore} none={rows.length === 0}>
      <SentTable rows={rows} stops={stops} now={now} />
    </List>
  );
}

/** Only for a page that has asked `requireAdmin`. */
export async function ReceivedList({ query, now }: { query: InboxQuery; now: number }) {
  const { state, peer: source } = query;
  const { rows, hasMore } = await messagesAdmin().inbox.list({ state, source, ...pageOf(query) });
  return (
    <List query={query} hasMore={hasMore} none={rows.length === 0}>
      <ReceivedTable rows={rows} now={now} />
    </List>
  );
}

const nothing = {
  outbox: 'No events yet. They appear when one is announced.',
  inbox: 'No events yet. They appear when one is received.',
};

interface Props {
  query: MessagesQuery;
  none: boolean;
  hasMore: boolean;
  children: ReactNode;
}

function List({ query, none, hasMore, children }: Props) {
  const isNarrowed = query.state || query.peer || query.page > 1;
  return (
    <>
      {none ? (
        <Panel>
          <p className="text-muted">{isNarrowed ? 'No events here.' : nothing[query.box]}</p>
        </Panel>
      ) : (
        children
      )}
      <Pager page={query.page} hasMore={hasMore} href={(page) => messagesHref(query, { page })} />
    </>
  );
}
