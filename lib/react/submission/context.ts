import type { KeyedCall } from '../../core/fields.ts';
import type { Outcome } from '../../core/outcome.ts';
import type { IdempotentSubmitOptions, SubmitAction } from '../idempotent-submit.ts';
import type { Event, Handlers } from './machine.ts';
import type { State } from './state.ts';
import type { KeyRecord, Records } from './storage.ts';

/** One form's submission, as its parts share it. */
export interface SubmissionContext<R> {
  state(): State<R>;
  /** Aborted when the page is left or the form goes. */
  lifetime(): AbortSignal;
  /** Facts about the latest submit, for its record. */
  meta?: Pick<KeyRecord, 'submittedAt' | 'page' | 'reloaded' | 'entry'> | null;
  /** What this page has sent last. Only in memory: storage never holds what was entered (B3). */
  sent?: Submitted | undefined;
  /** What the person has done last, since the recovery is there. */
  gesture?: Gesture | undefined;
  /** A lost submit that goes on by itself once the recovery is there, unless anything happens before. */
  waiting?: [send: Send<R>, signal: AbortSignal] | undefined;
  /** Undefined until it is loaded. */
  recovery?: Recovery<R>;
  /** Ends what is pending for React: a `<Link>` works again. */
  endPending(): void;
  /** Renders this state. */
  show(state: State<R>): void;
  settings(): Settings<R>;
  /** Resolves with null when the lock swallowed the submit, or when it ended without an outcome. */
  submit(values: object, element?: HTMLFormElement, button?: HTMLButtonElement | null): Promise<Outcome<R> | null>;
  /** Sends what nothing has changed in once more: a person has said so. */
  sendAgain(): void;
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
  /** Decides about a submit behind another one. Undefined: it goes out; else it ends so. */
  judge(next: Submitted): Promise<Outcome<R> | null | undefined> | Outcome<R> | null | undefined;
  sendAgain(): void;
  /** Tells the other tabs that a key has ended, and follows a redirect that was found. */
  follow(event: Event<R>, before: State<R>): void;
}

/** The settings of a submission. They are read anew at each use, since a component may render with other props. */
export interface Settings<R> extends Omit<IdempotentSubmitOptions<R>, 'initialKey' | 'storage'> {
  action: SubmitAction<R>;
  /** As the server gave it, with the names of fields that change by themselves behind the key. */
  initialKey?: string;
  records: Records;
  /** Gets an error that steers Next (`notFound()`), to throw it while rendering. */
  rethrow: (thrown: unknown) => void;
}

/** What was submitted, with the form that it is of, where that is known, and the button that was pressed. */
export interface Submitted {
  values: object;
  element?: HTMLFormElement | undefined;
  button?: HTMLButtonElement | null | undefined;
  gesture?: Gesture | undefined;
}

/** A press of a pointer or a key, from its beginning until the next one; or a click that comes of neither. */
export interface Gesture {
  /** How many answers this page had shown when it began. */
  readonly answers: number;
  /** While an event of it goes on. `key`: of a key that is held down, `click`: of a double click, once more. */
  acts?: 'first' | 'key' | 'click' | undefined;
  /** Its key has been held down. */
  isHeld?: boolean;
}

/** Sends what a person has submitted, once more for each attempt. */
export type Send<R> = (call: Required<KeyedCall>) => Promise<Outcome<R>>;

/** How one attempt ended, as the machine's event. */
export type ActionReply<R> =
  | { type: 'answered'; outcome: Outcome<R>; thrown?: undefined }
  /** `thrown`: from `Failed to fetch` to a masked server error; undefined where what came is none of ours. */
  | { type: 'lost'; outcome?: undefined; thrown?: unknown }
  | { type: 'navigated'; outcome?: undefined; thrown?: undefined };

/** The end of an attempt; undefined where it was not sent, or where nobody waits for its answer any more. */
export type PendingAttempt<R> = Promise<ActionReply<R> | undefined>;

/** The operation that the status route is asked about. */
export function askedOperation({ operation, intent }: Pick<Settings<unknown>, 'operation' | 'intent'>): string {
  return operation ?? intent.replace(/:.*/s, '');
}
