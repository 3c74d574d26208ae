import { headers } from 'next/headers.js';
import { redirect } from 'next/navigation.js';
import type { Address } from '../core/address.ts';
import { copyOf, type DecimalLike, isDecimal, isPlainObject } from '../core/data.ts';
import { ATTEMPT_FIELD, KEY_FIELD, KEYLESS_FORM, type KeyedCall } from '../core/fields.ts';
import { keyOfIssued } from '../core/issued-key.ts';
import { assertKnownOptions, optionNames, returned } from '../core/options.ts';
import { MISMATCH_MESSAGES, type Outcome, type Refusal } from '../core/outcome.ts';
import { isControlFlow } from '../core/redirect.ts';
import type { ExecuteRequest } from '../engine/definition.ts';
import type { Operation } from '../engine/operation.ts';
import { attachOperation } from './action-operation.ts';
import { complainOfKeylessForm, refuseOtherOperation } from './development.ts';
import { RollbackRedirect } from './rollback-redirect.ts';

/** A server action that runs once per key. */
export interface ServerAction<Input, Result, Reason extends string = string> {
  /** As `<form action>`: works without JavaScript. */
  (form: FormData): Promise<void>;
  /** From code, with plain data. */
  (input: Input, call: KeyedCall): Promise<Outcome<Result, Reason, Input>>;
  /** With `useActionState` and `useIdempotentSubmit`. */
  (previous: Outcome<Result> | null, form: FormData): Promise<Outcome<Result, Reason, Input>>;
  /** With arguments that go before those of the form. They are a part of the intent, so none of them may be null. */
  bind(self: null, ...bound: NonNullable<unknown>[]): ServerAction<Input, Result, Reason>;
}

type AsText = DecimalLike | URL | RegExp;
type AsItIs = Date | Map<never, never> | Set<never> | ArrayBuffer | ArrayBufferView | Response;

/** A result as a server action gives it to the browser: with text for each Decimal, URL and pattern in it. */
type Sent<T> = T extends AsText ? string : T extends AsItIs ? T : T extends object ? SentFields<T> : T;

type SentFields<T> = { [Name in keyof T]: Sent<T[Name]> };

/** Steps that follow an answer. */
export interface ServerActionOptions<Result, Reason extends string = string, To extends string = string> {
  /**
   * Makes the operation's input of a form whose fields are not what the schema expects, such as one field of JSON. Left out: the
   * schema says how the fields are read. `bound`: the arguments that were bound to the action. The form itself stays what two
   * submits of a key are compared by.
   */
  input?: (form: FormData, bound: readonly unknown[]) => unknown;
  /**
   * Runs for every settled answer, first or replayed: revalidate here, set cookies here. The effect stands whatever
   * happens in it.
   */
  onSettled?: (outcome: Outcome<Result, Reason>) => void | Promise<void>;
  /**
   * The address that a success of this action leads to, first or replayed, in place of the one that the operation's own `redirectTo`
   * has stored. It is not stored itself: whoever comes back later is led to the operation's. With Next's `typedRoutes` it must be one of
   * the app's routes.
   */
  redirectTo?: (data: Result) => Address<To>;
  /**
   * The address for a refusal that nothing would show: of a bare `<form action>`, which drops what its action returns. Not
   * asked where `useActionState` or a caller gets the refusal.
   */
  refusedTo?: (refusal: Refusal<Reason>) => string;
}

const OPTIONS = optionNames<ServerActionOptions<never>>()('input onSettled redirectTo refusedTo');

/**
 * Makes an operation a server action: one intent, one effect, one answer, with and without JavaScript. Refusals are
 * values of the outcome union. A Decimal, URL or pattern of the result reaches the browser as text; `redirect()` in the handler is a success, `notFound()` and its like roll back.
 *
 * ```ts
 * 'use server';
 * export const placeOrder = serverAction(checkout, { onSettled: () => revalidatePath('/orders') });
 * ```
 */
export function serverAction<Input, Result, Reason extends string = string, To extends string = string>(
  operation: Operation<Input, Result, Reason>,
  options: ServerActionOptions<Result, Reason, To> = {},
): ServerAction<Input, Sent<Result>, Reason> {
  assertKnownOptions('serverAction', options, OPTIONS);
  const { input, onSettled, redirectTo, refusedTo } = options;
  const action = async (...args: unknown[]): Promise<Outcome<Sent<Result>, Reason>> => {
    const request = readActionCall(args);
    // Neither a previous state from `useActionState` was left out of the context, nor a call from code.
    const isBare = request.payload instanceof FormData && request.context?.length === args.length - 1;
    const advice = complainOfKeylessForm(operation.name, request, isBare);
    const refusal = refuseOtherOperation(operation.name, request);
    if (refusal) return refusal as Outcome<Sent<Result>, Reason>;
    const run = await operation.run({
      ...request,
      ...(input && readWith(input, operation.name, request)),
      headers: headersOfRequest,
      acceptKeys: operation.acceptKeys ?? 'minted',
    });
    const { redirect: stored, leadsTo, thrown } = run;
    const outcome = inWordsForPeople(run.outcome, request, advice) as Outcome<Result, Reason>;
    if (thrown instanceof RollbackRedirect) redirect(await redirectAddress(thrown.url));
    if (isControlFlow(thrown)) throw thrown;
    // The answer stands: an error page now would say that an order failed which was placed.
    const report = (during: 'onSettled' | 'redirectTo') => (error: unknown) =>
      void operation.report(error, { key: outcome.key ?? '', during });
    const isSettled = outcome.ok || outcome.code === 'failed';
    if (isSettled) await harmless(() => onSettled?.(outcome), report('onSettled'));
    if (stored) redirect(await redirectAddress(stored.url), stored.type as never);
    const to = outcome.ok
      ? await harmless(() => (redirectTo ? redirectTo(outcome.data) : leadsTo), report('redirectTo'))
      : isBare && (await harmless(() => refusedTo?.(outcome), report('redirectTo')));
    if (to) redirect(await redirectAddress(to));
    return copyOf<unknown>(await withFirstAnswer(outcome, operation), sendable) as Outcome<Sent<Result>, Reason>;
  };
  return attachOperation(action as ServerAction<Input, Sent<Result>, Reason>, operation);
}

/**
 * Reads the ways in which React and people call an action: `(form)`, `(previousState, form)` from `useActionState`,
 * `(values, { key })` from code and from a form that sends values; each behind the arguments that were bound to it, which are part of the intent (F1).
 */
function readActionCall(args: readonly unknown[]): ExecuteRequest {
  const last = args.at(-1);
  if (last instanceof FormData) {
    const before = args.slice(0, -1);
    const bound = isPreviousState(before.at(-1)) ? before.slice(0, -1) : before;
    const key = last.get(KEY_FIELD);
    return {
      key: typeof key === 'string' ? keyOfIssued(key) : undefined,
      payload: last,
      context: bound,
      attempt: attemptOf(last.get(ATTEMPT_FIELD)),
    };
  }
  const { key, attempt } = (
    args.length > 1 && typeof last === 'object' && last !== null ? last : {}
  ) as Partial<KeyedCall>;
  const read = typeof key === 'string' ? keyOfIssued(key) : key;
  return { key: read, attempt: attemptOf(attempt), payload: args.at(-2), context: args.slice(0, -2) };
}

/**
 * How often the key was sent, as its form or its caller says; nothing where they do not say so, as without JavaScript. Both come from
 * a browser, which may send anything in its place, and it goes into a log line.
 */
function attemptOf(said: unknown): number | undefined {
  return (typeof said === 'string' || typeof said === 'number') && /^[1-9]\d{0,8}$/.test(`${said}`)
    ? Number(said)
    : undefined;
}

/**
 * The argument that `useActionState` puts before the form: nothing at first, then the last outcome. A bound argument must be
 * neither: bind something else than null.
 */
function isPreviousState(value: unknown): boolean {
  if (value === null || value === undefined) return true;
  const { ok, replayed, code, executed } = value as Partial<Record<string, unknown>>;
  return ok === true
    ? typeof replayed === 'boolean'
    : ok === false && typeof code === 'string' && executed !== undefined;
}

/** None where code calls the action outside of a request, as a test does. */
const headersOfRequest = (): Promise<Headers | undefined> => harmless(() => headers());

function readWith(
  input: NonNullable<ServerActionOptions<never>['input']>,
  name: string,
  { payload, context = [] }: ExecuteRequest,
): Pick<ExecuteRequest, 'read'> {
  if (!(payload instanceof FormData)) return {};
  return { read: async () => ({ payload, input: returned(`input of ${name}`, input(payload, context)) }) };
}

/** Undefined where it throws, which is told to `report`. What steers Next is thrown on. */
async function harmless<T>(run: () => T | Promise<T>, report?: (error: unknown) => void): Promise<T | undefined> {
  try {
    return await run();
  } catch (error) {
    if (isControlFlow(error)) throw error;
    report?.(error);
    return undefined;
  }
}

/**
 * Adds to a `payload_mismatch` what the first submission came to: in words, and as `data.first` where it has its answer, so
 * that the page can show it, with and without JavaScript (B1). The key is the caller's own: a foreign one never gets this far.
 */
async function withFirstAnswer<Result>(
  outcome: Outcome<Result>,
  operation: Pick<Operation<never, Result>, 'status'>,
): Promise<Outcome<Result>> {
  if (outcome.ok || outcome.code !== 'payload_mismatch' || outcome.key === undefined) return outcome;
  const status = await operation.status({ key: outcome.key });
  if (!('state' in status)) return outcome;
  const mismatch = { ...outcome, message: MISMATCH_MESSAGES[status.state] };
  return status.outcome ? { ...mismatch, data: { first: status.outcome } } : mismatch;
}

/**
 * Says in a person's words that a form has lost its key, who can send it again: a field that had not arrived is there then.
 * `advice`: a developer's words in place of them.
 */
function inWordsForPeople<Result>(
  outcome: Outcome<Result>,
  { payload }: ExecuteRequest,
  advice = KEYLESS_FORM,
): Outcome<Result> {
  const isKeyless = !outcome.ok && (outcome.code === 'key_missing' || outcome.code === 'key_malformed');
  return isKeyless && payload instanceof FormData ? { ...outcome, message: advice } : outcome;
}

/**
 * The address for `redirect()` in an action. Next's router adds the `basePath` to what it is told; to a form that was sent
 * without JavaScript Next answers with the address as it is (its action-handler.js, version 16), which leads out of the app.
 */
async function redirectAddress(url: string): Promise<string> {
  const basePath = process.env.__NEXT_ROUTER_BASEPATH ?? '';
  if (basePath === '' || !/^\/(?!\/)/.test(url)) return url;
  return (await headers()).has('next-action') ? url : `${basePath}${url}`;
}

/**
 * Gives what React can send in the place of a part that was read from the store: React has no words for a Decimal, an URL, a
 * pattern and an object without a prototype, and would throw behind an effect that stands.
 */
function sendable(part: object): unknown {
  if (isDecimal(part)) return part.valueOf();
  if (part instanceof URL || part instanceof RegExp) return String(part);
  return isPlainObject(part) ? { ...part } : part;
}
