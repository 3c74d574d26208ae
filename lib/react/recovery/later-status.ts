import type { Refusal } from '../../core/outcome.ts';
import { FIRST_LABELS, type Messages } from '../labels.ts';
import type { State } from '../submission/state.ts';

/** The texts of the states that need recovery.ts, and that are loaded with it. */
export const LATER_LABELS = {
  idle: '', // as without it
  checking: 'Checking whether it went through…',
  hasNavigated: 'Taking you there…',
  retrying: 'Trying again. It is done only once.',
  offline: 'You are offline. It is sent when you are back.',
  hasErrored: 'This could not be done.', // only without a message of the refusal's own
  absent: 'It has not reached us so far. Sending it again is safe.',
  late: 'It is still on its way. Please stay on this page.',
  unsettled: 'It may have gone through. Please do not send it again: we are finding out. You can close this page.',
  unreadable: 'A file that you chose is gone, or has changed. Choose it again.',
  elsewhere:
    'Something between you and us leads elsewhere, perhaps to sign in. Open this site in another tab, then check again.',
  recovered: 'This was already sent, and it went through.',
  repeated: 'This went through. Send it once more?',
  startOver: 'Start over',
  sendAgain: 'Send once more',
  show: 'Show it',
} satisfies Partial<Messages>;

type Shown = Pick<State<unknown>, 'status' | 'result' | 'isPending' | 'cause' | 'recovered' | 'canSendAgain'>;

/** Names the text of a case that needs recovery.ts; undefined where that of the status is the one. */
export function laterLabel(submit: Shown): keyof Messages | undefined {
  const { status, result, isPending, cause, recovered, canSendAgain } = submit;
  // That it was sent with other values is said by the refusal.
  if (cause === 'unsettled' && (status === 'checking' || (result as Refusal | null)?.code === 'payload_mismatch'))
    return 'checking';
  if (cause) return cause;
  if (canSendAgain) return 'repeated';
  if (status === 'hasSucceeded' && recovered) return 'recovered';
  // Between two attempts of ours nobody has to do anything, so the text stays and nothing new is read out.
  return status === 'unknown' && isPending ? 'retrying' : undefined;
}

/**
 * All default texts, in English. `idle` is empty; `hasErrored` is shown only where the answer has no message of its own.
 * Replace the whole table for another language, or single keys.
 */
export const messages: Messages = { ...FIRST_LABELS, ...LATER_LABELS };

/**
 * A button that goes leaves the focus where it stood (B7), on nothing: on the words, they would be read out twice; on
 * another button, a key that is still held down would press it.
 */
export const leaveFocus = (button: HTMLButtonElement) => () => {
  if (button !== document.activeElement) return;
  const place = document.createElement('span');
  place.tabIndex = -1;
  place.onblur = place.remove;
  button.before(place);
  place.focus();
};
