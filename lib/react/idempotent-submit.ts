import type { FormEvent, SubmitEvent } from 'react';
import type { KeyedCall } from '../core/fields.ts';
import type { Outcome } from '../core/outcome.ts';
import type { Status } from './submission/state.ts';
import type { KeyStorage } from './submission/storage.ts';

/** A server action made by `serverAction(operation)`, or any function of this shape. */
export type SubmitAction<R, Reason extends string = string> = (
  previous: Outcome<R> | null,
  form: FormData,
) => Promise<Outcome<R, Reason>>;

/** A server action made by `serverAction(operation)`, which takes the schema's input as well as a form. */
export interface ValuesAction<R, I, Reason extends string = string> {
  (values: I, call: KeyedCall): Promise<Outcome<R, Reason, NoInfer<I>>>;
  (previous: Outcome<R> | null, form: FormData): Promise<Outcome<R, Reason, NoInfer<I>>>;
}

/** The options of `useIdempotentSubmit`. */
export interface IdempotentSubmitOptions<R, Reason extends string = string> {
  /** Names what a person means to do once: `<operation>:<what>`, such as `checkout:${cart.id}`. */
  intent: string;
  /**
   * The idempotency key: `issueKey(operation)` makes it on the server, so that it is in the first HTML, and the form sends it
   * in the field `idempotency_key`. One for each intent.
   */
  initialKey: string;
  /** Default: the part of `intent` before the first colon. */
  operation?: string | undefined;
  /** The address of `statusRoute`, as the browser asks for it. Default `/api/idempotency`, under Next's `basePath`. */
  statusUrl?: string | undefined;
  /**
   * The storage that remembers keys. Default `session`: each tab for itself. `local`: tabs that submit the same intent share
   * its key, and it survives the end of the browser.
   */
  storage?: 'session' | 'local' | 'memory' | KeyStorage | undefined;
  /**
   * Runs once when the intent is settled, by a success or a stored refusal: refresh, toast, count here. `recovered`:
   * the answer was found by asking, here or in another tab as well, and its data is plain JSON. Not when the action
   * redirects, nor for the answer to a form that was sent before this page could run.
   */
  onSettled?: ((outcome: Outcome<R, Reason>, info: { recovered: boolean }) => void) | undefined;
  /** Runs at each step, for your log. */
  onTransition?: ((transition: Transition) => void) | undefined;
  policy?: Partial<RetryPolicy> | undefined;
  /** For a form whose every click counts, such as a like: sends unchanged values once more, and does not ask about it. */
  again?: 'allow' | undefined;
}

/** How patiently a lost attempt is repeated, always under the same key. All times in milliseconds. */
export interface RetryPolicy {
  attempts: number;
  baseMs: number;
  capMs: number;
  /** No retry begins later than this after the submit, or after the network came back. Polling has its own limit. */
  totalMs: number;
  /** An attempt without an answer for so long is asked about at the status route. */
  timeoutMs: number;
  /** For how long a running key is asked about before a person must ask again. */
  pollMs: number;
}

/** One step of a form, for a log: no values, no answers. */
export interface Transition {
  intent: string;
  key: string;
  /** How often this browser has sent the key. */
  attempt: number;
  from: Status;
  to: Status;
  /** The machine's event, such as `submitted`, `lost`, `found`. */
  event: string;
}

/** Props of the `<form>`: `submit.formProps`. */
export interface FormProps {
  id: string;
  action: (form: FormData) => void;
  onSubmit: (event: SubmitEvent<HTMLFormElement>) => void;
  onInput: (event: FormEvent<HTMLFormElement>) => void;
}

/** Props of the hidden input that holds the key: `submit.fieldProps`. */
export interface FieldProps {
  name: string;
  value: string;
  form: string;
}

/** The present state of a submit, its latest answer, and what a person can do about it. */
export interface IdempotentSubmit<R, Reason extends string = string, I = never> {
  status: Status;
  /** The latest answer; `values` in it fill the form again where JavaScript did not run. */
  result: Outcome<R, Reason, I> | null;
  key: string;
  /** A submit is ignored: while pending, and after success until an edit, `reset()` or navigation. */
  isLocked: boolean;
  isPending: boolean;
  /** The answer was found by asking about an earlier submit. */
  recovered: boolean;
  /**
   * Of `unknown`: why there is no answer, where that is known. `absent`: the server says it has not seen the key; sending again
   * uses the same one. `late`: nor has it, and the attempt goes on. `unsettled`: the server has it, and does not know yet what came
   * of it; it is asked about while this page is open. `unreadable`: a file that was chosen is gone or has changed, so
   * it cannot be sent. `elsewhere`: something else answers in the server's place, such as a proxy that leads to its sign-in page.
   */
  cause?: 'absent' | 'late' | 'unsettled' | 'unreadable' | 'elsewhere' | undefined;
  /** `unknown`, and why the latest attempt was turned away, such as "please sign in". */
  notice?: string | undefined;
  /** The address that a recovered answer leads to. */
  redirect?: string | undefined;
  /** A person can ask what became of the submit: `check`. Stays true while it runs, so that its button can keep the focus. */
  canCheck: boolean;
  /** A person can give the key up: `startOver`. */
  canStartOver: boolean;
  /** It has succeeded, and was submitted again with nothing changed. It is sent once more only by `sendAgain`. */
  canSendAgain?: boolean | undefined;
  /**
   * Submits a form, or the values that its operation's schema takes: plain objects, lists, text, numbers, bigints, booleans,
   * null, Dates and Files. They are copied, so a retry sends what was given here. In development anything else is a
   * ConfigurationError, which names the value.
   */
  execute: (values: FormData | I) => void;
  /**
   * Resolves with null when the submit was ignored, and when it ended without an outcome (unknown, redirected, unmounted). The
   * same values once more, with nothing done by a person since, get the first answer, and are not sent.
   */
  executeAsync: (values: FormData | I) => Promise<Outcome<R, Reason, I> | null>;
  /** Asks the status route again what became of an `unknown` submit. */
  check: () => void;
  /** Clears the view, never a key. */
  reset: () => void;
  /** Sends once more, under a new key, what `canSendAgain` asks about. */
  sendAgain: () => void;
  /** Takes a new key, once the old one is fenced or its answer known. */
  startOver: () => void;
  formProps: FormProps;
  fieldProps: FieldProps;
}
