import type { Gesture } from '../submission/context.ts';

/**
 * Follows what a person does on the page, in `form.gesture`, and calls `before` as each gesture begins, when nothing has come
 * of it yet. A click that neither a pointer nor a key has begun, such as a screen reader's, is a gesture of its own.
 */
export function watchGestures(form: { gesture?: Gesture | undefined }, before: () => void) {
  let answers = 0;
  let shown = 0;
  let previous: Gesture | undefined;
  /** No click has come of the latest press yet. */
  let isPressed = false;
  /** The key that is down repeats. */
  let isHeld = false;

  function begin(): void {
    previous = form.gesture;
    form.gesture = { answers: shown };
    before();
  }

  function follow({ type, detail, repeat, key }: Partial<KeyboardEvent>): void {
    const isClick = type === 'click';
    const isSecond = isClick && (detail ?? 0) > 1;
    const isOfPress = isPressed && (isClick || type === 'keypress');
    // The second click of a double click belongs to the first one, whatever its own press was.
    if (isSecond && isPressed) form.gesture = previous;
    else if (!isSecond && !repeat && !isOfPress) begin();
    if (!isOfPress) isHeld = !!repeat && /^(Enter| )$/.test(`${key}`); // an arrow goes on to other values
    isPressed = !isClick;
    // A click comes of the key that is down, unless a pointer has made it.
    if (type !== 'pointerdown') act(isHeld && !detail ? 'key' : isSecond ? 'click' : 'first');
  }

  /** No click comes of that press any more, or only at once. */
  function end(): void {
    isHeld = false; // the space key presses a button when it comes up
    setTimeout(() => {
      isPressed = false;
    });
  }

  /** Marks the gesture: a submit from now on, until the browser has something else to do, comes of this event. */
  function act(acts: Gesture['acts']): void {
    const gesture = form.gesture ?? { answers: shown };
    form.gesture = gesture;
    gesture.acts = acts;
    gesture.isHeld ||= acts === 'key';
    setTimeout(() => {
      gesture.acts = undefined;
    });
  }

  return {
    listen(signal: AbortSignal) {
      const options = { capture: true, signal };
      for (const type of ['pointerdown', 'keydown', 'keypress', 'click']) {
        window.addEventListener(type, follow, options);
      }
      // Not where a finger is lifted: its click comes later.
      for (const type of ['keyup', 'pointercancel']) window.addEventListener(type, end, options);
    },
    /** A person can see another answer, from the frame on behind the one that it is painted in. */
    answered(painted: () => void) {
      const number = ++answers;
      const frame = requestAnimationFrame;
      frame(() =>
        frame(() => {
          shown = number;
          painted();
        }),
      );
    },
    /** True where the latest answer could be seen before this gesture began. */
    hasSeenAnswer: (gesture: Gesture | undefined) => gesture?.answers === answers,
  };
}
