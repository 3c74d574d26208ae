import type { KeyDetail, PhaseView } from 'oncekit/admin';
import { Panel } from '../../ui/panel.tsx';
import { SubmitButton } from '../shared/submit-button.tsx';
import { type FormAction, KeyForm } from './key-form.tsx';

const said: Record<NonNullable<PhaseView['verdict']>, string> = {
  succeeded: 'it went through',
  failed: 'it did not happen and shall not',
  retry: 'it did not happen, try again',
};

interface Props {
  detail: KeyDetail;
  /** The call that is begun and not finished, where there is one. */
  call: PhaseView | undefined;
  action: FormAction;
  /** No other act of the page is more important. */
  isFirst: boolean;
}

/** For a key that nobody works at now. What it shows may be old: the server looks again. */
export function RetryPanel({ detail, call, action, isFirst }: Props) {
  const isAskedAbout = detail.state === 'unknown' && call?.verdict === null;
  const isWaiting = detail.needsAttention && detail.nextAttemptAt === null;
  return (
    <Panel aria-labelledby="retry-title">
      <h2 id="retry-title" className="text-lg font-semibold">
        {isWaiting ? 'This key waits for a person' : 'Nobody works at this key now'}
      </h2>
      {call?.verdict ? (
        <p className="mt-2 max-w-prose break-words">
          A person has said of <code className="font-mono text-sm">{call.name}</code>: {said[call.verdict]}
          {call.verdict === 'succeeded' ? ` (${call.reference})` : ''}. No run has been able to finish with that yet.
        </p>
      ) : null}
      <p className="mt-2 mb-4 max-w-prose text-muted">
        {isWaiting ? null : 'A worker goes on with it by itself, ever more slowly. '}
        Finished steps are not repeated. A call whose outcome is not known is not repeated blindly either. Attempts are
        counted anew, so the next ones follow soon.
      </p>
      <KeyForm action={action} detail={detail}>
        <div>
          <SubmitButton variant={isFirst ? 'primary' : 'quiet'}>
            {isAskedAbout ? 'Ask again now' : 'Retry now'}
          </SubmitButton>
        </div>
      </KeyForm>
    </Panel>
  );
}
