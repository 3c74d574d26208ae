import type { SentDetail, Stop } from 'oncekit/admin';
import type { LinkedRow } from '../../../shop/admin/linked.ts';
import { CopyText } from '../../ui/copy-text.tsx';
import { Detail, Details } from '../../ui/details.tsx';
import { Panel } from '../../ui/panel.tsx';
import { Cell, Row, Table } from '../../ui/table.tsx';
import { LinkedDetails } from '../keys/key-links.tsx';
import { ListedMoment, Moment } from '../shared/moment.tsx';
import { NextTry } from './message-next-try.tsx';
import { MessageStateBadge } from './message-state.tsx';

interface Props {
  detail: SentDetail;
  stops: readonly Stop[];
  now: number;
}

export function SentFacts({ detail, now, linked }: Omit<Props, 'stops'> & { linked: readonly LinkedRow[] }) {
  const { eventId, aggregate, sequence, createdAt, derivedKey, headerNames } = detail;
  return (
    <Panel aria-label="Event">
      <Details>
        <Detail name="Event">
          <CopyText text={eventId} name="the event’s id" />
        </Detail>
        <Detail name="Aggregate">
          <span className="break-all">{aggregate}</span>
        </Detail>
        <LinkedDetails linked={linked} />
        <Detail name="Sequence">#{sequence}</Detail>
        <Detail name="Announced">
          <Moment at={createdAt} now={now} />
        </Detail>
        <Detail name="Derived key">
          <CopyText text={derivedKey} name="the derived key" />
        </Detail>
        <Detail name="Headers">{headerNames.length > 0 ? headerNames.join(', ') : 'none'}</Detail>
      </Details>
    </Panel>
  );
}

const columns = ['Destination', 'State', 'Attempts', 'Next try', 'Settled', 'Last error'];

/** The event's destinations, and how far it has come. */
export function SentDeliveries({ detail, stops, now }: Props) {
  return (
    <div className="min-w-0">
      <h2 className="mb-3 text-lg font-semibold">Deliveries</h2>
      {detail.deliveries.length === 0 ? (
        <Panel>
          <p className="text-muted">None: no destination wanted this type when it was announced.</p>
        </Panel>
      ) : (
        <Table label="Deliveries" columns={columns} isStacked>
          {detail.deliveries.map((row) => (
            <Row key={row.destination}>
              <Cell>{row.destination}</Cell>
              <Cell>
                <MessageStateBadge state={row.state} />
              </Cell>
              <Cell label="Attempts" className="tabular-nums">
                {row.attempts}
              </Cell>
              <Cell label="Next try">
                <NextTry row={row} stops={stops} now={now} />
              </Cell>
              <Cell label="Settled">{row.settledAt ? <ListedMoment at={row.settledAt} now={now} /> : '–'}</Cell>
              <Cell label="Last error" className="max-w-96 min-w-48 whitespace-normal!">
                <span className="block min-w-0 break-words">{row.lastError ?? '–'}</span>
              </Cell>
            </Row>
          ))}
        </Table>
      )}
    </div>
  );
}
