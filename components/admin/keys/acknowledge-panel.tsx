import type { KeyDetail, PhaseView } from 'oncekit/admin';
import { Panel } from '../../ui/panel.tsx';
import { SubmitButton } from '../shared/submit-button.tsx';
import { isLateResult } from './heard-notice.tsx';
import { type FormAction, KeyForm } from './key-form.tsx';

/** For a settled key that is flagged: a call of it may stand at the provider, and nobody goes on with it. */
export function AcknowledgePanel({ detail, action }: { detail: KeyDetail; action: FormAction }) {
  const { events, state } = detail;
  const answered = new Set(events.filter(isLateResult).map(({ detail: said }) => said?.step));
  const contradicted = events.filter(({ type }) => type === 'contradicted');
  const otherwise = new Map(contradicted.map(({ detail: said }) => [said?.step, said?.reference]));
  const calls = detail.phases.filter(({ kind }) => kind === 'foreign');
  return (
    <Panel aria-labelledby="acknowledge-title">
      <h2 id="acknowledge-title" className="text-lg font-semibold">
        This key has ended, and a person must look at the provider
      </h2>
      <div className="mt-2 grid max-w-prose gap-2">
        {calls.map((call) => (
          <Why
            key={call.name}
            call={call}
            words={
              otherwise.has(call.name)
                ? contradictedWords(call, otherwise.get(call.name), state)
                : whyOf(call, answered.has(call.name))
            }
          />
        ))}
      </div>
      <p className="mt-2 mb-4 max-w-prose text-muted">
        Look for the derived key at the provider, and put right there what is wrong: give money back, say. Nothing is
        done here by itself, and the answer of the key stays as it is. Then say so: the key is stuck no longer, and what
        was kept of its calls is erased.
      </p>
      <KeyForm action={action} detail={detail}>
        <div>
          <SubmitButton>I have seen to it</SubmitButton>
        </div>
      </KeyForm>
    </Panel>
  );
}

/** Why a call may stand at the provider; undefined where nothing says so. */
function whyOf({ state, result, sends, notExecuted, verdict }: PhaseView, isAnswered: boolean): string | undefined {
  if (state === 'done') return result === null ? undefined : 'was done, and the key has ended in a refusal behind it.';
  if (isAnswered) {
    const words = 'was answered when nobody waited for it any more, and the key has ended in a refusal';
    return `${words}: the provider may have done what the customer was told did not happen.`;
  }
  const isDoubtful = sends > notExecuted && verdict === null;
  return isDoubtful ? 'may have been done, and the key has ended in a refusal before anybody found out.' : undefined;
}

/** The provider names a payment that the key has not ended with. */
function contradictedWords({ reference }: PhaseView, said: string | undefined, ended: KeyDetail['state']): string {
  const words = `was done, the provider says: ${said}`;
  if (reference !== null && reference !== said)
    return `${words}. The key counts another reference, ${reference}, alone.`;
  return `${words}, and the key has ended ${ended === 'failed' ? 'in a refusal' : `as ${ended}`}.`;
}

function Why({ call, words }: { call: PhaseView; words: string | undefined }) {
  if (words === undefined) return null;
  return (
    <div>
      <p>
        <code className="font-mono text-sm">{call.name}</code> {words}
      </p>
      <p className="mt-1 font-mono text-sm break-all select-all">{call.derivedKey}</p>
    </div>
  );
}
