import type { KeyDetail, PhaseView } from 'oncekit/admin';
import { Panel } from '../../ui/panel.tsx';
import { SubmitButton } from '../shared/submit-button.tsx';
import { type FormAction, KeyForm } from './key-form.tsx';

const said: Record<NonNullable<PhaseView['verdict']>, string> = {
  succeeded: 'it went through',
  failed: 'it did not happen and shall not',
  retry: 'it did not happen, send it again',
};

interface Props {
  detail: KeyDetail;
  /** The call that is begun and not finished, where there is one. */
  call: PhaseView | undefined;
  action: FormAction;
}

/** For a key that nobody works at now, and of which no person is asked. What it shows may be old: the server looks again. */
export function RetryPanel({ detail, call, action }: Props) {
  const isWaiting = detail.needsAttention && detail.nextAttemptAt === null;
  return (
    <Panel aria-labelledby="retry-title">
      <h2 id="retry-title" className="text-lg font-semibold">
        {isWaiting ? 'This key waits for a person' : 'Nobody works at this key now'}
      </h2>
      <Said call={call} />
      <p className="mt-2 mb-4 max-w-prose text-muted">
        {isWaiting ? null : 'A worker goes on with it by itself, ever more slowly. '}
        Finished steps are not repeated. A call whose outcome is not known is not repeated blindly either. Attempts are
        counted anew, so the next ones follow soon.
      </p>
      <KeyForm action={action} detail={detail}>
        <div>
          <SubmitButton>Retry now</SubmitButton>
        </div>
      </KeyForm>
    </Panel>
  );
}

interface AskAgainProps extends Omit<Props, 'action'> {
  call: PhaseView;
  now: number;
  /** None: nobody can be asked. */
  action: FormAction | undefined;
}

/** Has the provider asked once more, and sends nothing on a person's word; says why where nobody can be asked. */
export function AskAgain({ detail, call, now, action }: AskAgainProps) {
  const { state, heard, nextAttemptAt } = detail;
  // What was heard has made it due, also where the call itself cannot be asked about.
  const isWoken = heard !== null && nextAttemptAt !== null && nextAttemptAt.getTime() <= now;
  const isAsked = call.verdict === null && state === 'unknown' && !isWoken;
  return (
    <div>
      <h3 className="font-medium">{isAsked || !action ? 'Ask the provider' : 'Go on with it now'}</h3>
      <Said call={call} />
      {action ? (
        <>
          <p className="mt-1 mb-3 max-w-prose text-sm text-muted">
            {isAsked
              ? 'By the look-up of the call, or under the same key while the provider knows that: neither can do it twice. A worker asks by itself, ever more slowly.'
              : 'Finished steps are not repeated, and the call is not sent again blindly. A worker goes on with it by itself, ever more slowly.'}
          </p>
          <KeyForm action={action} detail={detail}>
            <div>
              <SubmitButton variant="quiet">{isAsked ? 'Ask again now' : 'Retry now'}</SubmitButton>
            </div>
          </KeyForm>
        </>
      ) : (
        <p className="mt-1 max-w-prose text-sm text-muted">
          Nobody can be asked from here: the call has no look-up, and the provider knows its key no more, or takes none.
          Look at the provider yourself.
        </p>
      )}
    </div>
  );
}

/** The word of a person that no run has been able to act upon so far. */
function Said({ call }: { call: PhaseView | undefined }) {
  if (!call?.verdict) return null;
  return (
    <p className="mt-2 max-w-prose break-words">
      A person has said of <code className="font-mono text-sm">{call.name}</code>: {said[call.verdict]}
      {call.verdict === 'succeeded' ? ` (${call.reference})` : ''}. No run has been able to finish with that yet.
    </p>
  );
}
