import type { KeyDetail } from 'oncekit/admin';
import type { LinkedRow } from '../../../shop/admin/linked.ts';
import { CopyText } from '../../ui/copy-text.tsx';
import { Detail, Details } from '../../ui/details.tsx';
import { TextLink } from '../../ui/text-link.tsx';
import { TitledPanel } from '../../ui/titled-panel.tsx';

interface Props {
  detail: KeyDetail;
  linked: readonly LinkedRow[];
  /** Received events that it has heard of, or that are about what it has made. */
  received: readonly LinkedRow[];
  /** The page of an event that it has announced, where there is one. */
  eventHref: ((eventId: string) => string) | undefined;
}

/** Links to its effects: the app's own rows, the events it has announced, those that it has heard of, the trace. */
export function KeyLinks({ detail: { outboxEvents, traceId }, linked, received, eventHref }: Props) {
  return (
    <TitledPanel title="What came of it">
      <div className="mt-3">
        <Details>
          <LinkedDetails linked={linked} />
          <Detail name="Events">
            {outboxEvents.length === 0 ? (
              'none'
            ) : (
              <ul className="grid gap-1">
                {outboxEvents.map(({ eventId, type }) => (
                  <li key={eventId}>
                    {eventHref ? (
                      <TextLink href={eventHref(eventId)} prefetch={false}>
                        {type}
                      </TextLink>
                    ) : (
                      type
                    )}
                  </li>
                ))}
              </ul>
            )}
          </Detail>
          <LinkedDetails linked={received} />
          <Detail name="Trace">
            {traceId ? <CopyText text={traceId} name="the trace" /> : 'none: nobody was tracing'}
          </Detail>
        </Details>
      </div>
    </TitledPanel>
  );
}

/** Lists the app's own rows, each with the link to its page. */
export function LinkedDetails({ linked }: { linked: readonly LinkedRow[] }) {
  return linked.map(({ name, text, href }) => (
    <Detail key={`${name} ${text}`} name={name}>
      {href ? (
        <TextLink href={href} className="break-all">
          {text}
        </TextLink>
      ) : (
        <span className="break-all">{text}</span>
      )}
    </Detail>
  ));
}
