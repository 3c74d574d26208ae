import { Fragment } from 'react';
import type { CallAnswer, Effect, Known } from '../../../shop/admin/call-answer.ts';
import { Notice } from '../../ui/notice.tsx';

/** Tells what is known of each foreign call of a key, before everything else; nothing where none was begun. */
export function CallAnswers({ answers }: { answers: readonly CallAnswer[] }) {
  if (answers.length === 0) return null;
  return (
    <section aria-label="What is known" className="mb-6 grid gap-2">
      {answers.map((answer) => (
        <Notice key={answer.step} tone={answer.tone}>
          <AnswerWords answer={answer} />
          <p className="mt-1 text-sm">
            By the call <code className="font-mono">{answer.step}</code>
          </p>
        </Notice>
      ))}
    </section>
  );
}

/** The words of one answer. */
export function AnswerWords({ answer: { title, since, effects, notes } }: { answer: CallAnswer }) {
  return (
    <div className="grid gap-1 break-words">
      <p className="font-medium">
        {title}
        {since ? (
          <>
            {' '}
            <Time at={since} />
          </>
        ) : null}
      </p>
      {effects.map((effect) => (
        <EffectWords key={effect.reference} effect={effect} />
      ))}
      {notes.map((note) => (
        <p key={note.words}>
          <KnownWords known={note} />.
        </p>
      ))}
    </div>
  );
}

function EffectWords({ effect: { amount, reference, known } }: { effect: Effect }) {
  return (
    <p>
      {amount === null ? null : <span className="tabular-nums">{amount}, </span>}
      {reference === null ? null : (
        <>
          <code className="font-mono text-sm break-all select-all">{reference}</code>,{' '}
        </>
      )}
      {known.map((each, place) => (
        <Fragment key={each.words}>
          {place > 0 ? ', ' : ''}
          <KnownWords known={each} />
        </Fragment>
      ))}
      .
    </p>
  );
}

function KnownWords({ known: { words, at } }: { known: Known }) {
  return at ? (
    <>
      {words} <Time at={at} />
    </>
  ) : (
    words
  );
}

/** The day and the minute, with its zone. */
function Time({ at }: { at: Date }) {
  const text = at.toISOString();
  return (
    <time dateTime={text} className="whitespace-nowrap tabular-nums">
      {text.slice(0, 16).replace('T', ' ')} UTC
    </time>
  );
}
