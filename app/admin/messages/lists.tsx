import type { Stop } from 'oncekit/admin';
import type { ReactNode } from 'react';
import { messagesHref } from '../../../components/admin/messages/message-addresses.ts';
import { ReceivedTable } from '../../../components/admin/messages/message-received-table.tsx';
import { SentTable } from '../../../components/admin/messages/message-sent-table.tsx';
import { Pager } from '../../../components/admin/shared/pager.tsx';
import { Panel } from '../../../components/ui/panel.tsx';
import { TextLink } from '../../../components/ui/text-link.tsx';
import { messagesAdmin } from '../../../shop/admin/messages.ts';
import { type InboxQuery, type MessagesQuery, type OutboxQuery, pageOf } from '../../../shop/admin/messages-query.ts';

/** As many dead letters as one looks at before acting. */
const FIRST = { state: 'dead', limit: 10, offset: 0 } as const;

/** Dead letters first, where all states are asked for. Only for a page that has asked `requireAdmin`. */
export async function SentList({ query, stops, now }: { query: OutboxQuery; stops: readonly Stop[]; now: number }) {
  const { state, peer: destination } = query;
  const { list } = messagesAdmin().outbox;
  const [{ rows, hasMore }, dead] = await Promise.all([
    list({ state, destination, ...pageOf(query) }),
    isOfAllStates(query) ? list({ destination, ...FIRST }) : { rows: [], hasMore: false },
  ]);
  return (
    <List query={query} hasMore={hasMore} none={rows.length === 0} hasMoreDead={dead.hasMore}>
      {dead.rows.length > 0 ? <SentTable label="Dead letters" rows={dead.rows} stops={stops} now={now} /> : null}
      <SentTable rows={rows} stops={stops} now={now} />
    </List>
  );
}

/** The same of what was received. */
export async function ReceivedList({ query, now }: { query: InboxQuery; now: number }) {
  const { state, peer: source } = query;
  const { list } = messagesAdmin().inbox;
  const [{ rows, hasMore }, dead] = await Promise.all([
    list({ state, source, ...pageOf(query) }),
    isOfAllStates(query) ? list({ source, ...FIRST }) : { rows: [], hasMore: false },
  ]);
  return (
    <List query={query} hasMore={hasMore} none={rows.length === 0} hasMoreDead={dead.hasMore}>
      {dead.rows.length > 0 ? <ReceivedTable label="Dead letters" rows={dead.rows} now={now} /> : null}
      <ReceivedTable rows={rows} now={now} />
    </List>
  );
}

const isOfAllStates = ({ state, page }: MessagesQuery) => state === undefined && page === 1;

const nothing = {
  outbox: 'No events yet. They appear when one is announced.',
  inbox: 'No events yet. They appear when one is received.',
};

interface Props {
  query: MessagesQuery;
  none: boolean;
  hasMore: boolean;
  hasMoreDead: boolean;
  /** Dead letters, where they come first, and the list. */
  children: [ReactNode, ReactNode];
}

function List({ query, none, hasMore, hasMoreDead, children: [dead, all] }: Props) {
  const isNarrowed = query.state || query.peer || query.page > 1;
  return (
    <>
      {dead ? (
        <div className="mb-3">
          <h2 className="mb-3 text-lg font-semibold">Dead letters</h2>
          {dead}
          {hasMoreDead ? (
            <p className="mt-3">
              <TextLink href={messagesHref(query, { state: 'dead' })}>All dead letters</TextLink>
            </p>
          ) : null}
          <h2 className="mt-8 text-lg font-semibold">All</h2>
        </div>
      ) : null}
      {none ? (
        <Panel>
          <p className="text-muted">{isNarrowed ? 'No events here.' : nothing[query.box]}</p>
        </Panel>
      ) : (
        all
      )}
      <Pager page={query.page} hasMore={hasMore} href={(page) => messagesHref(query, { page })} />
    </>
  );
}
