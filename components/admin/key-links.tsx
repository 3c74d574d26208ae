import type { KeyDetail } from 'oncekit/admin';
import type { LinkedRows } from '../../lib/demo/admin-linked.ts';
import { Detail, Details } from '../ui/details.tsx';
import { formatCents } from '../ui/money.ts';
import { TextLink } from '../ui/text-link.tsx';
import { TitledPanel } from '../ui/titled-panel.tsx';
import { sentHref } from './message-addresses.ts';

/** Where its effects are to be found: the shop's rows, the events it has announced, the trace. */
export function KeyLinks({ detail, linked }: { detail: KeyDetail; linked: LinkedRows }) {
  const { order, refund } = linked;
  const { outboxEvents, traceId } = detail;
  return (
    <TitledPanel title="What came of it">
      <div className="mt-3">
        <Details>
          <Detail name="Order">
            {order ? (
              <TextLink href={`/orders/${order.id}`} className="break-all">
                {order.id} ({order.status.replaceAll('_', ' ')}, {formatCents(order.amountCents)})
              </TextLink>
            ) : (
              'none'
            )}
          </Detail>
          {refund ? (
            <Detail name="Refund">
              <span className="break-all">{refund.id}</span> ({refund.status}, {formatCents(refund.amountCents)}, of{' '}
              <TextLink href={`/orders/${refund.orderId}`} className="break-all">
                its order
              </TextLink>
              )
            </Detail>
          ) : null}
          <Detail name="Events">
            {outboxEvents.length === 0 ? (
              'none'
            ) : (
              <ul className="grid gap-1">
                {outboxEvents.map(({ eventId, type }) => (
                  <li key={eventId}>
                    <TextLink href={sentHref(eventId)} prefetch={false}>
                      {type}
                    </TextLink>
                  </li>
                ))}
              </ul>
            )}
          </Detail>
          <Detail name="Trace">
            {traceId ? (
              <code className="font-mono text-sm break-all select-all">{traceId}</code>
            ) : (
              'none: nobody was tracing'
            )}
          </Detail>
        </Details>
      </div>
    </TitledPanel>
  );
}
