import type { KeyDetail, PhaseView } from 'oncekit/admin';
import type { ReactNode } from 'react';
import { Field } from '../../ui/field.tsx';
import { Panel } from '../../ui/panel.tsx';
import { Confirm } from '../shared/confirm.tsx';
import { SubmitButton } from '../shared/submit-button.tsx';
import { type FormAction, KeyForm } from './key-form.tsx';

interface Props {
  detail: KeyDetail;
  /** The call whose outcome is unknown. */
  call: PhaseView;
  action: FormAction;
}

/** Asks a person what nobody else can say. One form for each answer, so that none is chosen by default. */
export function VerdictPanel({ detail, call, action }: Props) {
  return (
    <Panel aria-labelledby="verdict-title">
      <h2 id="verdict-title" className="text-lg font-semibold">
        What happened at the provider?
      </h2>
      <p className="mt-2 max-w-prose text-muted">
        <code className="font-mono text-sm">{call.name}</code> was sent{' '}
        {call.sends === 1 ? 'once' : `${call.sends} times`}, and what came of it is not known. Look for its derived key
        at the provider, then say what you found. It is recorded, and acted upon at once.
      </p>
      <p className="mt-2 font-mono text-sm break-all">{call.derivedKey}</p>
      <div className="mt-4 grid gap-2">
        <Answer title="It went through" words="Its reference becomes the result, and the remaining steps run.">
          <KeyForm action={action} detail={detail}>
            <input type="hidden" name="kind" value="succeeded" />
            <div className="flex flex-wrap items-end gap-3">
              <Field
                label="Reference at the provider"
                name="reference"
                required
                maxLength={255}
                autoComplete="off"
                spellCheck={false}
                className="w-full sm:max-w-sm"
              />
              <SubmitButton>It went through</SubmitButton>
            </div>
          </KeyForm>
        </Answer>
        <div>
          <Confirm
            title="It did not happen and shall not"
            words={<p>The key ends in a refusal, which whoever sent it sees. What was set aside is given back.</p>}
          >
            <KeyForm action={action} detail={detail}>
              <input type="hidden" name="kind" value="failed" />
              <div>
                <SubmitButton>It shall not happen</SubmitButton>
              </div>
            </KeyForm>
          </Confirm>
          <Confirm
            title="I have checked that it did not happen: send it"
            words={
              <p>
                A provider that can be asked is asked once more. To any other it is sent again: had it happened, it
                would happen twice.
              </p>
            }
          >
            <KeyForm action={action} detail={detail}>
              <input type="hidden" name="kind" value="retry" />
              <div>
                <SubmitButton>Send it again, or ask again now</SubmitButton>
              </div>
            </KeyForm>
          </Confirm>
        </div>
      </div>
    </Panel>
  );
}

function Answer({ title, words, children }: { title: string; words: string; children: ReactNode }) {
  return (
    <div className="pb-6 last:pb-0">
      <h3 className="font-medium">{title}</h3>
      <p className="mt-1 mb-3 max-w-prose text-sm text-muted">{words}</p>
      {children}
    </div>
  );
}
