import type { CanonicalTexts } from '../core/canonical.ts';
import { CodedError, ResultUnreadableError, tryOr } from '../core/errors.ts';
import { countsMethod, type Fingerprint, matchFingerprint } from '../core/fingerprint.ts';
import { upcastData } from '../core/older-data.ts';
import { returned } from '../core/options.ts';
import { type Executed, executedBy, type Outcome, refuse } from '../core/outcome.ts';
import type { Redirect } from '../core/redirect.ts';
import type { KeyId } from '../core/scope.ts';
import type { Secrets } from '../core/secrets.ts';
import { type Awaitable, proceed } from '../core/wait.ts';
import type { ExecutionResult, KeyRow } from '../store/store.ts';
import { type Answer, decodeAnswer, type StoredResponse } from './answer.ts';
import type { Config } from './config.ts';
import { beforeDeadline } from './deadline.ts';
import type { Definition } from './definition.ts';
import type { AfterCommit, RefusalAnswer } from './handler.ts';
import { responseOf } from './response.ts';

/**
 * How an execution in this process ended. Calls that have joined it get the same one. `afterCommit`: run by the call that has
 * executed, and by none that has joined it. Of a handler `at: 'commit'` says, too, that its answer could not be made.
 */
export type FlightResult =
  | (ExecutionResult & { afterCommit?: readonly AfterCommit[] })
  | { kind: 'not_admitted'; says: number | 'unauthorized' }
  /** In phases: what was finished stands, and the key can go on from there. `isBeforeCalls`: no foreign call can have been done. */
  | { kind: 'suspended'; error: unknown; isBeforeCalls?: boolean };

/** The outcome of a call, and what a web framework needs besides it. */
export interface Run<T> {
  outcome: Outcome<T>;
  /** The handler, or the first run of it, ended in a redirect: send the caller there. */
  redirect?: Redirect | undefined;
  /** The address that the operation's `redirectTo` made of the result, as it is stored. */
  leadsTo?: string | undefined;
  /** The status the handler stored with its refusal. */
  status?: number | undefined;
  /** The stored HTTP answer, where a route or the handler made one. */
  response?: StoredResponse | undefined;
  /** Until when the stored answer is kept. */
  expiresAt?: Date | undefined;
  /** The error that was thrown, where the outcome is `internal`. */
  thrown?: unknown;
  /** The name under which the refusal was reported to `onError`. */
  instance?: string | undefined;
  /** The row that has decided, where one has. */
  row?: KeyRow | undefined;
  /** This call itself has settled that row. */
  isOwn?: boolean | undefined;
}

/** How long to wait before asking again after a key that is still running, in milliseconds. */
export const RETRY_AFTER_MS = 1000;

interface Reader {
  nextKey: string;
  /** A route asks, which needs the response and not the result. */
  asResponse: boolean;
}

/** A stored row decides, whatever its state (O2). Nothing runs. */
export function replayRow<T>(row: KeyRow, definition: Definition<never>, reader: Reader): Run<T> {
  const shared = { key: row.key, nextKey: reader.nextKey };
  switch (row.state) {
    case 'abandoned':
      return { outcome: refuse('key_abandoned', { executed: executedBy('tombstone'), ...shared }) };
    case 'in_progress':
      return { outcome: refuse('in_flight', { retryAfterMs: RETRY_AFTER_MS, ...shared }) };
    case 'unknown':
      return { outcome: refuse('outcome_unknown', { retryAfterMs: RETRY_AFTER_MS, ...shared }) };
    case 'succeeded':
    case 'failed':
      return replayAnswer<T>(row, definition, { ...shared, asResponse: reader.asResponse });
  }
}

function replayAnswer<T>(
  row: KeyRow,
  { options: { schemaVersion = 1, upcasts = {} } }: Definition<never>,
  { asResponse, ...shared }: Reader & { key: string },
): Run<T> {
  // Written by a newer deploy: another instance can read it. Same key, try again (R3).
  if (row.schemaVersion > schemaVersion) return { outcome: refuseUnreadable(shared) };
  // A refusal that a person has erased: what it said is gone, and that it was refused is not.
  if (row.state === 'failed' && row.result === null) {
    return { outcome: refuse('failed', { replayed: true, ...shared }), expiresAt: row.expiresAt };
  }
  try {
    const answer = decodeAnswer(row.result);
    // A route's stored response stays as it was; only a caller that wants the result needs it brought up to date.
    const isWhole = asResponse && 'response' in answer && answer.response;
    if (answer.kind === 'data' && !isWhole) {
      answer.data = upcastData(answer.data, { from: row.schemaVersion, to: schemaVersion, upcasts }, unreadableAt);
    }
    return { ...presentAnswer<T>(answer, { replayed: true, ...shared }), expiresAt: row.expiresAt };
  } catch (error) {
    const code = error instanceof CodedError ? error.code : 'result_unreadable';
    return { outcome: refuse(code, { executed: executedByRow(row), ...shared }), thrown: error };
  }
}

/** An answer, just made or replayed, as an outcome. */
export function presentAnswer<T>(answer: Answer, shared: { replayed: boolean; key: string; nextKey: string }): Run<T> {
  switch (answer.kind) {
    case 'data':
      return {
        outcome: { ok: true, data: answer.data as T, ...shared },
        response: answer.response,
        leadsTo: answer.redirectTo,
      };
    case 'response':
      return { outcome: { ok: true, data: responseOf(answer.response) as T, ...shared }, response: answer.response };
    case 'redirect':
      return { outcome: { ok: true, data: undefined as T, ...shared }, redirect: answer.redirect };
    case 'refusal': {
      const { reason, message, data, status, executed = executedBy('answer') } = answer;
      return { outcome: refuse('failed', { executed, reason, message, data, ...shared }), status };
    }
  }
}

/** Tells whether the effect of a row's key exists. Nobody knows of a refusal that is erased, or that cannot be read here. */
export function executedByRow({ state, result }: Pick<KeyRow, 'state' | 'result'>): Executed {
  if (state === 'succeeded') return executedBy('answer');
  if (state === 'abandoned') return executedBy('tombstone');
  const refusal = state === 'failed' ? readAnswer(result) : undefined;
  return refusal ? ((refusal as RefusalAnswer).executed ?? executedBy('answer')) : executedBy('none');
}

/** The stored answer of a key, or undefined where there is none that can be read. */
function readAnswer(result: string | null): Answer | undefined {
  return tryOr(() => decodeAnswer(result));
}

/**
 * Same payload, another one, or a row that only another deploy can compare with. A tombstone never saw one. Where the row's
 * fingerprint counts no method and the call's does, the method that the answer was stored with tells; without one it does not count.
 */
export function comparePayload(
  row: KeyRow,
  call: { canonical: CanonicalTexts; fingerprint: Fingerprint; request: { method?: string | undefined } },
  secrets: Secrets,
): 'same' | 'different' | 'unreadable' {
  if (!row.fingerprint) return 'same';
  const { canonical, fingerprint, request } = call;
  const { method } = request;
  const matched = matchFingerprint(row.fingerprint, { canonical, method, fingerprint }, row.tenant, secrets);
  if (matched !== 'same' || countsMethod(row.fingerprint) || !countsMethod(fingerprint)) return matched;
  const { method: stored = method } = readAnswer(row.result) ?? {};
  return stored === method ? 'same' : 'different';
}

/** The refusal for a row that this deploy cannot read. */
export function refuseUnreadable(keys: { key: string; nextKey: string }) {
  return refuse('unavailable', { retryAfterMs: RETRY_AFTER_MS, ...keys });
}

function unreadableAt(existing: number, thrown?: { cause: unknown }): ResultUnreadableError {
  if (thrown) {
    return new ResultUnreadableError('result_unreadable', `upcasts[${existing}] threw.`, { existing, ...thrown });
  }
  const expected = `upcasts[${existing}], which leads to ${existing + 1}`;
  const words = 'An older stored answer has no upcast to this version.';
  return new ResultUnreadableError('result_unreadable', words, { existing, expected });
}

/**
 * Tells whether the stored answer of a key may still be given to whoever asks. An answer that is none is a no, which is reported:
 * where a `return` is missing, nothing is told.
 *
 * @throws CodedError `unavailable` where the caller's time is up; and what `mayReplay` throws
 */
export function mayReplay<Tx>(
  { config }: { config: Config },
  { options }: Definition<Tx>,
  { tenant, principal, operation, key }: KeyId,
  deadline: number,
): Awaitable<boolean> {
  if (!options.mayReplay) return true;
  const asked = options.mayReplay({ scope: { tenant, principal, operation }, key });
  return proceed(beforeDeadline(asked, deadline, 'mayReplay'), (said) => {
    try {
      return returned<boolean>(`mayReplay of ${operation}`, said, (it) => typeof it === 'boolean', 'true or false');
    } catch (error) {
      config.onError(error, { operation, key, during: 'setup' });
      return false;
    }
  });
}
