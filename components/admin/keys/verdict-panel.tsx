import type { KeyDetail, PhaseView } from 'oncekit/admin';
import type { ReactNode } from 'react';
import type { LinkedRow } from '../../../shop/admin/linked.ts';
import type { ButtonVariant } from '../../ui/button.tsx';
import { CopyText } from '../../ui/copy-text.tsx';
import { Field } from '../../ui/field.tsx';
import { Panel } from '../../ui/panel.tsx';
import { Confirm } from '../shared/confirm.tsx';
import { SubmitButton } from '../shared/submit-button.tsx';
import { CallFacts } from './call-facts.tsx';
import { HeardNotice, heardReference } from './heard-notice.tsx';
import { type FormAction, KeyForm } from './key-form.tsx';
import { AskAgain } from './retry-panel.tsx';

/** A verdict that was refused, because it does not name what it overrules. */
export interface RefusedVerdict {
  kind: unknown;
  /** The name that was typed. */
  typed: unknown;
}

interface Props {
  detail: KeyDetail;
  /** The call whose outcome is unknown. */
  call: PhaseView;
  /** The app's own rows that the key has made: what is in doubt, and whose. */
  linked: readonly LinkedRow[];
  now: number;
  action: FormAction;
  /** Has the key looked at now; none where nobody can be asked. */
  retryNow: FormAction | undefined;
  refused?: RefusedVerdict | undefined;
}

/**
 * Asks a person what nobody else can say. What is in doubt comes first, and what was heard of it. Then one form for each answer, so
 * that none is chosen by default: the one that can do it twice comes last, apart from the others.
 */
export function VerdictPanel({ detail, call, linked, now, action, retryNow, refused }: Props) {
  const proof = call.verdict === 'succeeded' ? null : call.reference;
  const reference = proof ?? heardReference(detail, call.name);
  const overruling = { detail, action, refused };
  return (
    <Panel aria-labelledby="verdict-title">
      <h2 id="verdict-title" className="text-lg font-semibold">
        What happened at the provider?
      </h2>
      <div className="mt-4">
        <CallFacts call={call} linked={linked} now={now} />
      </div>
      <HeardNotice detail={detail} />
      <p className="my-4 max-w-prose">
        <code className="font-mono text-sm">{call.name}</code> was sent, and what came of it is not known. Look for its
        derived key at the provider, then say what you found. It is recorded, and acted upon at once.
      </p>
      {call.derivedKey ? <CopyText text={call.derivedKey} name="the derived key" /> : null}
      <div className="mt-4 grid gap-4 [&>*]:border-t [&>*]:border-line [&>*]:pt-4">
        {detail.isListed ? <AskAgain detail={detail} call={call} now={now} action={retryNow} /> : null}
        <div>
          <h3 className="font-medium">It went through</h3>
          <p className="mt-1 mb-3 max-w-prose text-sm text-muted">
            Its reference becomes the result, and the remaining steps run. Nothing is sent.
          </p>
          <KeyForm action={action} detail={detail}>
            <input type="hidden" name="kind" value="succeeded" />
            <div className="flex flex-wrap items-end gap-3">
              <Field
                key={reference}
                label="Reference at the provider"
                name="reference"
                defaultValue={reference}
                required
                maxLength={255}
                autoComplete="off"
                spellCheck={false}
                className="w-full sm:max-w-sm"
              />
              <SubmitButton>It went through</SubmitButton>
            </div>
          </KeyForm>
        </div>
        <Overruling
          {...overruling}
          kind="failed"
          title="It did not happen and shall not"
          words={<p>The key ends in a refusal, which whoever sent it sees. What was set aside is given back.</p>}
          button="It shall not happen"
        />
        <div className="rounded-lg border! border-bad! px-4 pb-1">
          <p className="font-medium text-bad">
            This can do it twice: had it happened after all, a customer would be charged, or refunded, a second time.
          </p>
          <div>
            <Overruling
              {...overruling}
              kind="retry"
              variant="danger"
              title="I have checked that it did not happen: send it"
              words={
                <p>
                  A provider that can be asked is asked before, and nothing is sent where it knows of the call. To any
                  other it is sent as it was.
                </p>
              }
              button="Send it again"
            />
          </div>
        </div>
      </div>
    </Panel>
  );
}

interface OverrulingProps extends Pick<Props, 'detail' | 'action' | 'refused'> {
  kind: 'failed' | 'retry';
  title: string;
  words: ReactNode;
  button: string;
  variant?: ButtonVariant;
}

/** An answer that says that it was not done. Where something else was heard, its name is typed: no click alone overrules it. */
function Overruling({ detail, action, refused, kind, title, words, button, variant = 'quiet' }: OverrulingProps) {
  const isRefused = refused?.kind === kind;
  const name = detail.heard?.replace(/\s+/g, ' ').trim();
  return (
    <Confirm title={title} words={words} isOpen={isRefused} tone={variant === 'danger' ? 'bad' : 'quiet'}>
      <KeyForm action={action} detail={detail}>
        <input type="hidden" name="kind" value={kind} />
        {name ? (
          <Field
            label={`Type ${name} to overrule what was heard`}
            name="overrules"
            defaultValue={isRefused && typeof refused.typed === 'string' ? refused.typed : ''}
            errors={isRefused ? [`That is not ${name}. Nothing was recorded.`] : undefined}
            required
            autoComplete="off"
            spellCheck={false}
            className="w-full break-words sm:max-w-sm"
          />
        ) : null}
        <div>
          <SubmitButton variant={variant}>{button}</SubmitButton>
        </div>
      </KeyForm>
    </Confirm>
  );
}
