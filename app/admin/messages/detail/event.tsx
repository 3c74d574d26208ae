import { notFound } from 'next/navigation';
import type { ReactNode } from 'react';
import { ReceivedFacts, ReceivedOperations } from '../../../../components/admin/messages/message-received.tsx';
import { MessageRecords } from '../../../../components/admin/messages/message-records.tsx';
import { SentDeliveries, SentFacts } from '../../../../components/admin/messages/message-sent-facts.tsx';
import { SentOperations } from '../../../../components/admin/messages/message-sent-operations.tsx';
import { MessageShape } from '../../../../components/admin/messages/message-shape.tsx';
import { MessageStops } from '../../../../components/admin/messages/message-stops.tsx';
import { PageTitle } from '../../../../components/ui/page-title.tsx';
import { renderedAt } from '../../../../shop/admin/clock.ts';
import { linkedToEvent, linkedToReceived } from '../../../../shop/admin/linked.ts';
import { messagesAdmin } from '../../../../shop/admin/messages.ts';
import { requeueReceived, requeueSent, resumeDestination, skipSent } from '../actions.ts';

interface Shown {
  eventId: string;
  /** For what may be done about it. */
  actKey: string;
  notice: ReactNode;
}

/** Only for a page that has asked `requireAdmin`. */
export async function Sent({ eventId, actKey, notice }: Shown) {
  const { outbox } = messagesAdmin();
  const [detail, { open, stops }] = await Promise.all([outbox.find(eventId), outbox.overview()]);
  if (!detail) notFound();
  const now = renderedAt();
  const isInTheWay = (destination: string) =>
    detail.deliveries.some((each) => each.destination === destination && each.state === 'pending');
  const pending = (destination: string) =>
    open.find(({ peer, state }) => peer === destination && state === 'pending')?.count ?? 0;
  return (
    <>
      <PageTitle>{detail.type}</PageTitle>
      {notice}
      <MessageStops
        stops={stops.filter(({ destination }) => isInTheWay(destination))}
        waiting={pending}
        now={now}
        resume={{ send: resumeDestination, actKey }}
      />
      <div className="grid grid-cols-1 gap-6">
        <SentOperations detail={detail} requeue={{ send: requeueSent, actKey }} skip={{ send: skipSent, actKey }} />
        <SentFacts detail={detail} now={now} linked={linkedToEvent(detail)} />
        <SentDeliveries detail={detail} stops={stops} now={now} />
        <MessageShape title="Payload" shape={detail.payload} none="There is none." />
        <MessageRecords records={detail.records} />
      </div>
    </>
  );
}

/** Only for a page that has asked `requireAdmin`. */
export async function Received({ notice, actKey, ...event }: Shown & { source: string }) {
  const [detail, linked] = await Promise.all([messagesAdmin().inbox.find(event), linkedToReceived(event)]);
  if (!detail) notFound();
  const now = renderedAt();
  const isProcessed = detail.state === 'processed';
  return (
    <>
      <PageTitle>Event of {detail.source}</PageTitle>
      {notice}
      <div className="grid grid-cols-1 gap-6">
        <ReceivedOperations detail={detail} requeue={{ send: requeueReceived, actKey }} />
        <ReceivedFacts detail={detail} now={now} linked={linked} />
        <MessageShape
          title="Payload"
          shape={detail.payload}
          none={
            isProcessed
              ? 'It was erased when the event was processed.'
              : 'It is not kept: its source has no handle, or it is no JSON, or too large.'
          }
        />
        {isProcessed ? <MessageShape title="Result" shape={detail.result} none="There is none." /> : null}
        <MessageRecords records={detail.records} />
      </div>
    </>
  );
}
