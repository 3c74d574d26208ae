import type { KeyDetail, PhaseView } from 'oncekit/admin';
import type { LinkedRow } from '../../../shop/admin/linked.ts';
import { Confirm, ConfirmPanel } from '../shared/confirm.tsx';
import { SubmitButton } from '../shared/submit-button.tsx';
import { AcknowledgePanel } from './acknowledge-panel.tsx';
import { type FormAction, KeyForm } from './key-form.tsx';
import { RetryPanel } from './retry-panel.tsx';
import { UnlistedNotice } from './unlisted-notice.tsx';
import { type RefusedVerdict, VerdictPanel } from './verdict-panel.tsx';

export interface KeyActions {
  resolve: FormAction;
  retryNow: FormAction;
  release: FormAction;
  forget: FormAction;
  acknowledge: FormAction;
}

interface Props {
  detail: KeyDetail;
  now: number;
  actions: KeyActions;
  /** The app's own rows that the key has made. */
  linked?: readonly LinkedRow[];
  refused?: RefusedVerdict | undefined;
}

/** The acts of a person that a key allows now; none where it goes on by itself, or has settled as it should. */
export function KeyOperations({
  detail,
  now,
  linked = [],
  actions: { resolve, retryNow, acknowledge },
  refused,
}: Props) {
  const { state, settledAt, nextAttemptAt, needsAttention, isListed, operation } = detail;
  const [call, isLeft] = [begunCall(detail), isLeftBehind(detail, now)];
  const isUnknown = state === 'unknown' && call !== undefined;
  // A call of which nobody can be asked is not asked about again: what is needed is a person's word.
  const isRetryable = isUnknown ? call.verdict !== null || nextAttemptAt !== null : isLeft || state === 'unknown';
  const judged = judgedCall(detail, now);
  if (settledAt && needsAttention) return <AcknowledgePanel detail={detail} action={acknowledge} />;
  return (
    <>
      {!isListed && (state === 'in_progress' || state === 'unknown') ? <UnlistedNotice operation={operation} /> : null}
      {judged ? (
        <VerdictPanel
          {...{ detail, call: judged, linked, now, refused }}
          action={resolve}
          retryNow={isRetryable && isListed ? retryNow : undefined}
        />
      ) : null}
      {isRetryable && isListed && !judged ? <RetryPanel detail={detail} call={call} action={retryNow} /> : null}
    </>
  );
}

const begunCall = ({ phases }: KeyDetail) =>
  phases.find(({ kind, state }) => kind === 'foreign' && state === 'started');

/** By this server's clock, to show it or not. Whether the lease is over is judged by the database. */
const isLeftBehind = ({ state, leaseUntil }: KeyDetail, now: number) =>
  state === 'in_progress' && leaseUntil !== null && leaseUntil.getTime() <= now;

/** The call that a person is asked about, where one is. */
export function judgedCall(detail: KeyDetail, now: number): PhaseView | undefined {
  const isAsked = detail.state === 'unknown' || (detail.needsAttention && isLeftBehind(detail, now));
  return isAsked ? begunCall(detail) : undefined;
}

/** Acts that are seldom needed. Each is confirmed, and refused by the database where it would not be safe. */
export function RareKeyOperations({ detail, actions: { release, forget } }: Pick<Props, 'detail' | 'actions'>) {
  const { state, leaseUntil, answer, isForgotten, needsAttention } = detail;
  const isHeld = state === 'in_progress' && leaseUntil !== null;
  const isErasable = answer !== null && !isForgotten && !needsAttention;
  if (!isHeld && !isErasable) return null;
  return (
    <ConfirmPanel title="More that can be done">
      {isHeld ? (
        <Confirm
          title="Release the lease…"
          words={
            <>
              <p>
                The key is taken from its executor: whatever that one still writes changes nothing. A worker, or the
                customer’s next try, goes on behind the last finished step.
              </p>
              <p>
                Refused while the lease is live, and where a call has begun at a provider that might not know it again.
              </p>
            </>
          }
        >
          <KeyForm action={release} detail={detail}>
            <div>
              <SubmitButton variant="quiet">Release it</SubmitButton>
            </div>
          </KeyForm>
        </Confirm>
      ) : null}
      {isErasable ? (
        <Confirm
          title="Forget what is stored…"
          words={
            <p>
              The stored answer is erased, and cannot be had back. The row stays until it expires: a retry is told that
              it was done, and nothing runs again. Your other rows and events stay as they are.
            </p>
          }
        >
          <KeyForm action={forget} detail={detail}>
            <div>
              <SubmitButton variant="quiet">Forget it</SubmitButton>
            </div>
          </KeyForm>
        </Confirm>
      ) : null}
    </ConfirmPanel>
  );
}
