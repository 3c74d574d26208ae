import type { FoundDelivery, SentDetail } from 'oncekit/admin';
import type { ButtonVariant } from '../../ui/button.tsx';
import { Notice } from '../../ui/notice.tsx';
import { Panel } from '../../ui/panel.tsx';
import { TextLink } from '../../ui/text-link.tsx';
import type { FormAction } from '../keys/key-form.tsx';
import { sentHref } from './message-addresses.ts';
import { MessageAnswer } from './message-answer.tsx';
import { MessageForm } from './message-form.tsx';

interface Actions {
  requeue: FormAction;
  skip: FormAction;
}

/** The acts of a person on an event, for each destination; none where it goes out by itself. */
export function SentOperations({ detail, ...actions }: { detail: SentDetail } & Actions) {
  const isOne = detail.deliveries.filter(({ state }) => state === 'dead').length === 1;
  return detail.deliveries.map((delivery) => (
    <Operations key={delivery.destination} delivery={delivery} variant={isOne ? 'primary' : 'quiet'} {...actions} />
  ));
}

function Operations({
  delivery,
  requeue,
  skip,
  variant,
}: { delivery: FoundDelivery; variant: ButtonVariant } & Actions) {
  const { state, eventId: event, destination, aggregate, behind } = delivery;
  const about = { destination, event, settled_at: delivery.settledAt?.toISOString() ?? '' };
  if (state === 'dead') {
    return (
      <Panel aria-label={`Dead letter of ${destination}`}>
        <h2 className="text-lg font-semibold break-words">It did not get to {destination}</h2>
        <p className="mt-2 mb-4 max-w-prose break-words">
          Given up on after {delivery.attempts === 1 ? 'one attempt' : `${delivery.attempts} attempts`}
          {delivery.lastError ? `: ${delivery.lastError}` : ''}
          {/[.!?]$/.test(delivery.lastError ?? '') ? '' : '.'} {waiting(behind, aggregate)}
        </p>
        <div className="mb-4 empty:hidden">
          <Blocked delivery={delivery} />
        </div>
        <div className="grid gap-6 divide-y divide-line">
          <MessageAnswer
            title="Its cause is mended"
            words={`It is sent again from its first attempt on${behind ? ', and what waits behind it follows in its order' : ''}. Had it got through after all, ${destination} sees the same event id again.`}
          >
            <MessageForm action={requeue} about={about} label="Requeue" variant={variant} />
          </MessageAnswer>
          <MessageAnswer
            title={`${destination} can do without it`}
            words={`It is not sent there${behind ? ', and what waits behind it goes out' : ''}. It can still be requeued until its retention is over.`}
          >
            <MessageForm action={skip} about={about} label="Skip" variant="quiet" />
          </MessageAnswer>
        </div>
      </Panel>
    );
  }
  if (state === 'skipped') {
    return (
      <Panel aria-label={`Skipped for ${destination}`}>
        <h2 className="text-lg font-semibold break-words">{destination} goes without it</h2>
        <p className="mt-2 mb-4 max-w-prose text-sm text-muted break-words">
          It was skipped, and later events of {aggregate} may have gone out. Requeued, it comes behind them, out of its
          order.
        </p>
        <MessageForm action={requeue} about={about} label="Requeue" variant="quiet" />
      </Panel>
    );
  }
  return <Blocked delivery={delivery} />;
}

/** Says for which dead letter it waits, where it does. */
function Blocked({ delivery: { waitsFor, destination } }: { delivery: FoundDelivery }) {
  if (waitsFor?.state !== 'dead') return null;
  return (
    <Notice tone="warn">
      On its way to {destination} it waits for{' '}
      <TextLink href={sentHref(waitsFor.eventId)} prefetch={false}>
        #{waitsFor.sequence}
      </TextLink>
      , which is a dead letter. Requeue or skip that one first.
    </Notice>
  );
}

/** Beyond 1,000 they are not counted. */
function waiting(behind: number, aggregate: string): string {
  if (behind === 0) return 'Nothing waits behind it.';
  if (behind === 1) return `One later event of ${aggregate} waits behind it.`;
  const count = behind > 1000 ? 'More than 1,000' : behind.toLocaleString('en-US');
  return `${count} later events of ${aggregate} wait behind it.`;
}
