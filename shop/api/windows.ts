/** How old a key of ours may be when it is first used, in hours: the kit's `window`. A test holds the kit to it. */
export const KEY_WINDOW_HOURS = 24;

/** How long the answer to a paid operation is kept, in hours: the kit's `phasesRetention`. A test holds it to it. */
export const ANSWER_KEPT_HOURS = 72;
