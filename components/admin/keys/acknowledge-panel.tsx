import type { KeyDetail, KeyEvent, PhaseView } from 'oncekit/admin';
import type { ReactNode } from 'react';
import { Panel } from '../../ui/panel.tsx';
import { SubmitButton } from '../shared/submit-button.tsx';
import { type FormAction, KeyForm } from './key-form.tsx';

/** For a settled key that is flagged: a call of it may stand at the provider, and nobody goes on with it. */
export function AcknowledgePanel({ detail, action }: { detail: KeyDetail; action: FormAction }) {
  const calls = detail.phases.filter(({ kind }) => kind === 'foreign');
  const isLate = ({ type, detail: said }: KeyEvent) => type === 'late_answer' && said?.said === 'result';
  const answered = new Set(detail.events.filter(isLate).map(({ detail: said }) => said?.step));
  const open = calls.filter(({ name, state }) => state === 'started' && answered.has(name));
  const kept = calls.filter(({ state, result }) => state === 'done' && result !== null);
  return (
    <Panel aria-labelledby="acknowledge-title">
      <h2 id="acknowledge-title" className="text-lg font-semibold">
        This key has ended, and a person must look at the provider
      </h2>
      <div className="mt-2 grid max-w-prose gap-2">
        {open.map((call) => (
          <Why key={call.name} call={call}>
            was answered when nobody waited for it any more, and the key has ended in a refusal: the provider may have
            done what the customer was told did not happen.
          </Why>
        ))}
        {kept.map((call) => (
          <Why key={call.name} call={call}>
            was done, and the key has ended in a refusal that did not take it back.
          </Why>
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

function Why({ call, children }: { call: PhaseView; children: ReactNode }) {
  return (
    <div>
      <p>
        <code className="font-mono text-sm">{call.name}</code> {children}
      </p>
      <p className="mt-1 font-mono text-sm break-all select-all">{call.derivedKey}</p>
    </div>
  );
}
