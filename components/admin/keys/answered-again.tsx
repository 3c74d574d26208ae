import type { KeyDetail, KeyEvent } from 'oncekit/admin';
import { Detail } from '../../ui/details.tsx';
import { Moment, utc } from '../shared/moment.tsx';

/** What was answered to calls of a key that was there already, by the type of the event that counts them. */
const ANSWERS = {
  replayed: 'With what is stored',
  in_flight: 'That it was still in progress',
  outcome_unknown: 'That its outcome was not known',
  key_abandoned: 'That it was given up',
  payload_mismatch: 'Refused, since other values were sent',
} as const satisfies Partial<Record<KeyEvent['type'], string>>;

type AnswerType = keyof typeof ANSWERS;

/** The types of events that say nothing but how often. */
export type OnlyCounted = Exclude<AnswerType, 'payload_mismatch'>;

/** Tells whether an event says more than how often a key was answered: what became of it, or what else was sent. */
export function isOfTimeline(event: KeyEvent): event is KeyEvent & { type: Exclude<KeyEvent['type'], OnlyCounted> } {
  return !(event.type in ANSWERS) || event.type === 'payload_mismatch';
}

/** How often a key was answered again, in each way: a row of the facts. Nothing where it was not. */
export function AnsweredAgain({ events, now }: { events: KeyDetail['events']; now: number }) {
  const counts = events.filter(({ type }) => type in ANSWERS);
  if (counts.length === 0) return null;
  return (
    <Detail name="Answered again">
      <ul className="grid gap-2">
        {(Object.keys(ANSWERS) as AnswerType[]).map((type) => (
          <Answers key={type} type={type} counts={counts.filter((event) => event.type === type)} now={now} />
        ))}
      </ul>
    </Detail>
  );
}

/** All of one type: two processes may have begun to count at the same moment. */
function Answers({ type, counts, now }: { type: AnswerType; counts: readonly KeyEvent[]; now: number }) {
  const [oldest] = counts;
  if (!oldest) return null;
  // Without a count it was noted, and its ten seconds are not over.
  const times = counts.reduce((sum, { detail }) => sum + Number(detail?.times ?? 1), 0);
  const last = new Date(Math.max(...counts.map(({ at, detail }) => Date.parse(detail?.last ?? at.toISOString()))));
  const fingerprint = counts.find(({ detail }) => detail?.fingerprint)?.detail?.fingerprint;
  return (
    <li>
      {ANSWERS[type]}, {times === 1 ? 'once' : `${times} times`}
      {fingerprint ? (
        <>
          {times === 1 ? ', with the fingerprint ' : ', the first with the fingerprint '}
          <code className="rounded bg-warn-surface px-1 font-mono text-sm text-warn">{fingerprint}…</code>
        </>
      ) : null}
      <div className="text-sm text-muted">
        {times === 1 ? null : (
          <>
            first{' '}
            <time dateTime={oldest.at.toISOString()} className="tabular-nums">
              {utc(oldest.at)}
            </time>
            , last{' '}
          </>
        )}
        <Moment at={last} now={now} />
      </div>
    </li>
  );
}
