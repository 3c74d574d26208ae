import type { Outcome } from '../../core/outcome.ts';
import { askedOperation, type SubmissionContext, type Submitted } from '../submission/context.ts';
import type { Event } from '../submission/machine.ts';
import { isOpen, type State } from '../submission/state.ts';
import { watchGestures } from './gestures.ts';
import { writeDown } from './values.ts';

type Compared = Submitted & ReturnType<typeof writeDown>;

/** The latest submit, as far as the next one is judged by it. */
interface Past {
  sent: Compared;
  key: string;
  hasSucceeded: boolean;
  isCleared?: boolean;
  /** Its fields before a person has touched them. The person has done what differs from that. */
  base?: Compared | undefined;
  /** Its fields as they were sent, or as a reset left them: a password manager enters something without a gesture. */
  left?: Compared | undefined;
}

/** How a submit ends that does not go out. Undefined: it goes out. */
type Verdict<R> = Outcome<R> | null | undefined;

/**
 * Decides whether a submit behind another one is the same intent, another one, or none: by its values and by the gesture that
 * it comes of. One gesture is one submit, and what has not changed is not done twice, unless a person says so.
 */
export function createJudge<R>(form: SubmissionContext<R>) {
  const { state, dispatch, settings } = form;
  let past: Past | undefined;
  /** It stands again where what was submitted behind it is called off before it goes out. */
  let earlier: Past | undefined;
  /** A person is asked about it. */
  let question: Submitted | undefined;
  /** It waits for the end of what was sent before it. */
  let waiting: { next: Compared; end: (verdict: Verdict<R>) => void } | undefined;
  const gestures = watchGestures(form, touch);

  function compared(what: Submitted): Compared {
    const [, ...volatile] = (settings().initialKey ?? '').split(' ');
    return Object.assign(what, writeDown(what, volatile.map(decodeURIComponent)));
  }

  /** Writes down what its form would send now, but for the button. Undefined for values from code. */
  function present(of: Submitted | undefined): Compared | undefined {
    const { element: sent } = of ?? {};
    // React may have put another one in its place.
    const other = sent?.isConnected === false ? document.getElementById(sent.id) : null;
    const element = (other as typeof sent | null) ?? sent;
    return element && compared({ values: new FormData(element), element });
  }

  /** A gesture begins, and nothing has come of it yet. */
  function touch(): void {
    if (past) past.base ??= present(past.sent);
  }

  /** Takes note of what an answer or a reset leaves: that is no edit. */
  function look(): void {
    if (past) past.left = present(past.sent);
  }

  /** A person has changed a field since. */
  function isEdited(): boolean {
    const { base, sent, hasSucceeded } = past ?? {};
    const now = base && present(sent);
    // What was sent is no edit of it, whatever the fields held meanwhile: a page may disable them.
    return !!now && now.seen !== base?.seen && (hasSucceeded || now.seen !== sent?.seen);
  }

  function judge(submitted: Submitted): Promise<Verdict<R>> | Verdict<R> {
    const { again } = settings();
    const { gesture } = form;
    submitted.gesture = gesture;
    const { element } = submitted;
    const { acts } = gesture ?? {};
    // A person who has come to this page may be first, or not: that is not known yet.
    if (state().by === 'shown' || (!past && state().by)) return untilKnown(compared(submitted));
    // What an earlier page has sent is not known here, so a person decides.
    if (!past && (state().status !== 'hasSucceeded' || acts === 'key')) return undefined;
    if (!past) return again === 'allow' ? free() : ask(submitted);
    const { sent, base, left, hasSucceeded } = past;
    const isSame = gesture === sent.gesture;
    // The first click of a double click may have been on something else.
    const isHeld = acts === 'key' || (again === 'allow' && isSame && gesture?.isHeld);
    if (isHeld || (acts === 'click' && isSame && again !== 'allow')) return null;
    const { status, attempt, nextKey, doubt, result, recovered, isPending, key } = state();
    const next = compared(submitted);
    // Of another window nothing is known.
    const isElsewhere = !!element && element.ownerDocument !== document;
    const isBehindAnswer = isElsewhere || (!isSame && gestures.hasSeenAnswer(gesture));
    // A press that began before its person could read the answer.
    if (again !== 'allow' && !isPending && !isSame && !isBehindAnswer && acts) return null;
    const isOtherButton = next.pressed !== sent.pressed;
    const isOther = isOtherButton || next.all !== sent.all;
    if (key === past.key && !nextKey && (isOpen(state()) || doubt)) return isOther ? untilEnd(next) : undefined;
    const isDone = status === 'hasSucceeded' || (hasSucceeded && status === 'idle' && !attempt);
    const known = element ? (base ?? left ?? next) : sent;
    // A person who was at other values when they heard that the first ones are done may not mean a second time.
    const isNew = !(isDone && recovered) && (isOtherButton || next.seen !== known.seen);
    if (isNew || again === 'allow') {
      return isDone ? free() : undefined;
    }
    if (!isBehindAnswer && !isOther && (isDone || status === 'hasErrored')) {
      if (process.env.NODE_ENV === 'development') {
        void import('../development.ts').then(({ complainOfRepeat }) => complainOfRepeat(askedOperation(settings())));
      }
      return result;
    }
    return isDone ? ask(submitted) : undefined;
  }

  /** Lets another intent take the place of this one, as far as the state allows. */
  function free(): undefined {
    dispatch({ type: 'edited', isSubmitted: true });
  }

  function ask(about: Submitted): null {
    question = about;
    dispatch({ type: 'repeated' });
    return null;
  }

  /** Other values wait until what is behind the key is known. They go out where it has been given up, and nowhere else. */
  function untilEnd(next: Compared): Promise<Verdict<R>> | Verdict<R> {
    free();
    // Nothing was out, so it stands behind what was before.
    return state().isPending || form.lifetime().aborted ? untilKnown(next) : judge(next);
  }

  function untilKnown(next: Compared): Promise<Verdict<R>> | null {
    if (form.lifetime().aborted) return null; // nobody finds anything out any more
    waiting?.end(null);
    return new Promise((end) => {
      waiting = { next, end };
    });
  }

  /** Takes note of what is submitted. */
  function note(): void {
    if (!form.sent || form.sent === past?.sent) return;
    earlier = past;
    const sent = compared(form.sent);
    past = { sent, key: state().key, hasSucceeded: false, left: sent };
  }

  /** Takes note of a success. The page has rendered it by the next microtask, and with its fields enabled when it is painted. */
  function succeed(of: Past): void {
    of.hasSucceeded = true;
    queueMicrotask(() => {
      if (!isEdited()) of.base = undefined;
      clear();
    });
  }

  /** Resets the fields behind a success, as React does. What was entered meanwhile is not lost. */
  function clear(): void {
    const told = state();
    const isShown = past?.hasSucceeded && told.status === 'hasSucceeded' && told.key === past.key;
    if (past && isShown && !past.isCleared && isAsSent(past)) {
      past.isCleared = true;
      past.base = undefined;
      resetFields(past);
      // What listens to resets may free the form, and controlled choices are out of step until they are rendered again.
      form.show({ ...told });
      past.hasSucceeded = true;
    }
    look();
  }

  const isAsSent = ({ sent }: Past) => present(sent)?.seen === sent.seen;

  function resetFields({ sent }: Past): void {
    HTMLFormElement.prototype.reset.call(sent.element); // a field may be named `reset`
  }

  /** Hears of fields that are tied to the form and stand elsewhere. Those inside tell the form itself. */
  function onInput({ target }: globalThis.Event): void {
    const { form: owner } = target as Partial<HTMLInputElement>;
    if (owner && owner === past?.sent.element && !owner.contains(target as Node)) dispatch({ type: 'edited' });
  }

  function onReset({ target }: globalThis.Event): void {
    if (!past?.hasSucceeded || target !== past.sent.element) return;
    past.base = past.left = undefined;
    setTimeout(look); // the fields are reset behind the event
  }

  function follow({ type, ...event }: Event<R>, before: State<R>): void {
    const now = state();
    note();
    if (past) {
      if (type === 'sent') past.key = now.key;
      // The page, or a person, says that the form is free.
      if (type === 'reset' || ('by' in event && event.by === 'fence')) past.hasSucceeded = false;
      if (now.status === 'hasSucceeded' && before.status !== 'hasSucceeded' && now.key === past.key) succeed(past);
      if (before.isPending && !before.attempt && now.status === 'idle') {
        past = earlier;
        form.sent = past?.sent;
      }
      // A page that was kept is shown for another visit.
      if (past && before.by === 'shown' && now.status === 'idle') {
        if (!waiting && isAsSent(past)) resetFields(past);
        past = form.sent = undefined;
      }
    }
    const isNews = !now.isPending && (before.isPending || now.status !== before.status);
    // A form that is only free again has no answer that could be read first.
    if (isNews && now.status !== 'idle' && type !== 'repeated') gestures.answered(clear);
    if (!waiting || now.isPending) return;
    const { next, end } = waiting;
    waiting = undefined;
    const isStillSo = now.status === 'idle' && (present(next) ?? next).seen === next.seen;
    const isAllowed = now.status === 'hasSucceeded' && settings().again === 'allow';
    if (isAllowed) free();
    end(isStillSo || isAllowed ? undefined : null);
    // It was pressed before its person could know, so they are asked.
    if (now.status === 'hasSucceeded' && !now.recovered && !isAllowed) ask(next);
  }

  note();
  if (past && state().status === 'hasSucceeded') succeed(past);

  return {
    judge,
    follow,
    isEdited,
    /** The values that were submitted, if they were sent under this key. */
    sentUnder: (key: string) => (past?.key === key ? past.sent.values : undefined),
    /** An event of a field says that a person changes it. It counts unless the values say otherwise. */
    isEdit(): boolean {
      if (past) past.base ??= past.left;
      return !past?.sent.element || isEdited();
    },
    sendAgain(): void {
      const { acts = 'first' } = form.gesture ?? {};
      // The second click of a double click is meant for what stood there before.
      if (!question || !state().canSendAgain || acts !== 'first') return;
      const { values, element, button } = question;
      const pressed = button?.form === element && /^(submit|image)$/.test(`${button?.type}`) ? button : null;
      free();
      past = form.sent = question = undefined;
      void form.submit(element ? new FormData(element, pressed) : values, element, pressed);
    },
    listen(signal: AbortSignal): void {
      gestures.listen(signal);
      window.addEventListener('beforeinput', touch, { capture: true, signal }); // dictated, or pasted by a menu
      window.addEventListener('input', onInput, { signal });
      window.addEventListener('reset', onReset, { capture: true, signal });
      signal.addEventListener('abort', () => {
        waiting?.end(null);
        waiting = undefined;
      });
    },
  };
}
