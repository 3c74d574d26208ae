import type { KeyDetail } from 'oncekit/admin';
import { Panel } from '../ui/panel.tsx';
import { type FormAction, KeyForm } from './key-form.tsx';
import { SubmitButton } from './submit-button.tsx';

/** For a key that nobody works at now. What it shows may be old: the server looks again. */
export function RetryPanel({ detail, action }: { detail: KeyDetail; action: FormAction }) {
  return (
    <Panel aria-labelledby="retry-title">
      <h2 id="retry-title" className="text-lg font-semibold">
        {detail.needsAttention ? 'This key waits for a person' : 'Nobody works at this key now'}
      </h2>
      <p className="mt-2 mb-4 max-w-prose text-muted">
        Finished steps are not repeated. A call whose outcome is not known is not repeated blindly either. The count of
        attempts starts anew.
      </p>
      <KeyForm action={action} detail={detail}>
        <div>
          <SubmitButton>Retry now</SubmitButton>
        </div>
      </KeyForm>
    </Panel>
  );
}
