import type { PendingAttempt, Send } from './action.ts';
import type { Event, Handlers } from './machine.ts';
import type { Settings } from './settings.ts';
import type { State } from './state.ts';
import type { KeyRecord } from './storage.ts';

/** One form's submission, as its parts share it. */
export interface SubmissionContext<R> {
  state(): State<R>;
  /** Aborted when the page is left or the form goes. */
  lifetime(): AbortSignal;
  /** Facts about the latest submit, for its record. */
  meta?: Pick<KeyRecord, 'submittedAt' | 'page' | 'reloaded'> | null;
  /** Undefined until it is loaded. */
  recovery?: Recovery<R>;
  /** Renders this state. */
  show(state: State<R>): void;
  settings(): Settings<R>;
  dispatch(event: Event<R>): void;
  /** Begins when the form is mounted, and anew when its page comes back out of the back/forward cache. Returns how to stop. */
  start(): () => void;
}

/** A form needs this part only when an answer is lost, or to hear of other tabs. */
export interface Recovery<R> {
  readonly handlers: Partial<Handlers<Event<R>['type']>>;
  /** Sends until there is an answer, the budget is spent, or a person must decide. `first`: an attempt that is out. */
  run(send: Send<R>, signal: AbortSignal, first?: PendingAttempt<R>): Promise<void>;
  /** Asks about the key until it is settled. `again`: the submit may send once more for the replay. */
  poll(again?: boolean): Promise<void>;
  /** Listens to the other tabs and the back/forward cache until the page is left. */
  listen(): void;
  /** Tells the other tabs that a key has ended, and follows a redirect that was found. */
  follow(event: Event<R>, before: State<R>): void;
}
