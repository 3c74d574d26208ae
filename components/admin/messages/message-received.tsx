import type { ReceivedDetail } from 'oncekit/admin';
import type { LinkedRow } from '../../../shop/admin/linked.ts';
import { CopyText } from '../../ui/copy-text.tsx';
import { Detail, Details } from '../../ui/details.tsx';
import { Panel } from '../../ui/panel.tsx';
import type { FormAction } from '../keys/key-form.tsx';
import { LinkedDetails } from '../keys/key-links.tsx';
import { Moment } from '../shared/moment.tsx';
import { MessageAnswer } from './message-answer.tsx';
import { MessageForm } from './message-form.tsx';
import { NextRun } from './message-received-table.tsx';
import { MessageStateBadge } from './message-state.tsx';

interface Props {
  detail: ReceivedDetail;
  now: number;
  /** The app's own rows that it is about, and their keys. */
  linked: readonly LinkedRow[];
}

export function ReceivedFacts({ detail, now, linked }: Props) {
  return (
    <Panel aria-label="Event">
      <Details>
        <Detail name="State">
          <MessageStateBadge state={detail.state} />
        </Detail>
        <Detail name="Source">{detail.source}</Detail>
        <Detail name="Event">
          <CopyText text={detail.eventId} name="the event’s id" />
        </Detail>
        <LinkedDetails linked={linked} />
        <Detail name="Attempts">{detail.attempts}</Detail>
        <Detail name="Next try">
          <NextRun row={detail} now={now} />
        </Detail>
        <Detail name="Last error">{detail.lastError ?? '–'}</Detail>
        <Detail name="Other payloads">
          {detail.mismatches === 0 ? 'none' : `came ${detail.mismatches === 1 ? 'once' : `${detail.mismatches} times`}`}
        </Detail>
        <Detail name="Payload hash">
          <code className="font-mono text-sm">{detail.hashPrefix}…</code>
        </Detail>
        <Detail name="Received">
          <Moment at={detail.receivedAt} now={now} />
        </Detail>
        <Detail name="Processed">
          <Moment at={detail.processedAt} now={now} />
        </Detail>
      </Details>
    </Panel>
  );
}

/** The acts of a person on a dead letter; nothing else needs a person. */
export function ReceivedOperations({ detail, requeue }: { detail: ReceivedDetail; requeue: FormAction }) {
  const { state, source, eventId: event, attempts, lastError, payload } = detail;
  if (state !== 'dead') return null;
  const again =
    payload === null
      ? 'Its payload could not be kept, so it is tried when its sender sends it again.'
      : 'It is tried again with the payload that is kept, by the worker where the source has a handler, or when its sender sends it again.';
  return (
    <Panel aria-labelledby="dead-title">
      <h2 id="dead-title" className="text-lg font-semibold">
        It has not taken effect
      </h2>
      <p className="mt-2 mb-4 max-w-prose break-words">
        Given up on after {attempts === 1 ? 'one attempt' : `${attempts} attempts`}
        {lastError ? `: ${lastError.replace(/\.$/, '')}` : ''}. Each attempt was rolled back.
      </p>
      <MessageAnswer title="Its cause is mended" words={`${again} Its attempts are counted anew.`}>
        <MessageForm action={requeue} about={{ source, event }} label="Requeue" />
      </MessageAnswer>
    </Panel>
  );
}
