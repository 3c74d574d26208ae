import type { RedactedAnswer } from 'oncekit/admin';
import { Panel } from '../../ui/panel.tsx';
import { ShapeText } from '../shared/shape-text.tsx';

export function StoredAnswer({ answer }: { answer: RedactedAnswer | null }) {
  return (
    <Panel aria-labelledby="answer-title">
      <h2 id="answer-title" className="text-lg font-semibold">
        Stored answer
      </h2>
      <p className="mt-2 text-muted">{wordsOf(answer)}</p>
      {answer && 'shape' in answer && answer.shape !== NOTHING ? <ShapeText shape={answer.shape} /> : null}
    </Panel>
  );
}

/** The shape of an answer with nothing besides its kind. */
const NOTHING = 'undefined';
const SHOWN = 'Names and types are shown, values are not.';

function wordsOf(answer: RedactedAnswer | null): string {
  switch (answer?.kind) {
    case undefined:
      return 'There is none.';
    case 'data':
      return `A success. ${answer.shape === NOTHING ? 'It has no details.' : SHOWN}`;
    case 'response':
      return `An HTTP answer, status ${answer.status}. Its body is not shown.`;
    case 'refusal':
      return `A refusal: ${answer.reason}, status ${answer.status}. ${answer.shape === NOTHING ? 'It has no details.' : SHOWN}`;
    case 'redirect':
      return 'A redirect. Its target is not shown.';
    case 'erased':
      return 'It was erased.';
    case 'unreadable':
      return 'It cannot be read by this version of the app.';
  }
}
