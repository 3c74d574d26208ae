import type { KeyDetail } from 'oncekit/admin';
import type { FormAction } from './key-form.tsx';
import { RetryPanel } from './retry-panel.tsx';
import { VerdictPanel } from './verdict-panel.tsx';

interface Props {
  detail: KeyDetail;
  now: number;
  resolve: FormAction;
  retryNow: FormAction;
}

/** What a person can do about a key; nothing where it goes on by itself, or has settled. */
export function KeyOperations({ detail, now, resolve, retryNow }: Props) {
  const { state, leaseUntil, needsAttention, phases } = detail;
  const call = phases.find((phase) => phase.kind === 'foreign' && phase.state === 'started');
  if (state === 'unknown' && call) {
    return (
      <>
        {call.verdict ? <RetryPanel detail={detail} call={call} action={retryNow} /> : null}
        <VerdictPanel detail={detail} call={call} action={resolve} />
      </>
    );
  }
  // By this server's clock, to show it or not. Whether the lease is over is judged by the database.
  const isLeft = state === 'in_progress' && (needsAttention || (leaseUntil !== null && leaseUntil.getTime() <= now));
  return isLeft || state === 'unknown' ? <RetryPanel detail={detail} call={call} action={retryNow} /> : null;
}
