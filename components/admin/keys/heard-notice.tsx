import type { KeyDetail, KeyEvent } from 'oncekit/admin';
import { Notice } from '../../ui/notice.tsx';
import { utc } from '../shared/moment.tsx';

/** Shows what was heard of a key that nobody has ended, before a person's own opinion. Nothing where nothing was heard. */
export function HeardNotice({ detail: { heard, events } }: { detail: KeyDetail }) {
  if (heard === null) return null;
  const unconfirmed = new Set(events.flatMap(({ type, detail }) => (type === 'set_aside' ? detail?.reference : [])));
  return (
    <div className="my-4 break-words">
      <Notice tone="warn">
        <p className="font-medium">Something was heard of it</p>
        <ul className="mt-1 grid gap-1">
          {events.filter(isHeard).map((event) => (
            <li key={`${event.type} ${event.at.getTime()} ${event.detail?.said}`}>
              {wordsOf(event)} at{' '}
              <time dateTime={event.at.toISOString()} className="tabular-nums">
                {utc(event.at, 'second')}
              </time>
              {unconfirmed.has(event.detail?.reference) ? '. The provider, asked about that, has not confirmed it' : ''}
              .
            </li>
          ))}
        </ul>
      </Notice>
    </div>
  );
}

/** The reference of a call that a person need not copy: that of a proof, or else the one that was heard last. */
export function heardReference({ events }: KeyDetail, step: string): string | undefined {
  const of = events.filter((event) => isHeard(event) && event.detail?.step === step && event.detail.reference);
  return of.at(-1)?.detail?.reference;
}

export function isLateResult({ type, detail }: KeyEvent): boolean {
  return type === 'late_answer' && detail?.said === 'result';
}

function isHeard(event: KeyEvent): boolean {
  return event.type === 'evidence' || event.type === 'contradicted' || isLateResult(event);
}

function wordsOf(event: KeyEvent): string {
  const { actor, detail } = event;
  if (isLateResult(event))
    return `The answer to a send of ${detail?.step} came too late for its run, and was a result,`;
  const { said = '', reference = '' } = detail ?? {};
  return `${actor} says: ${said}${said.includes(reference) ? '' : ` (${reference})`}`;
}
