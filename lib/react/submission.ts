import { fullJitter } from '../core/backoff.ts';
import { ATTEMPT_FIELD, KEY_FIELD } from '../core/fields.ts';
import type { Outcome } from '../core/outcome.ts';
import { sendOnce } from './attempt.ts';
import { type Event, reduce } from './machine.ts';
import type { Settings } from './settings.ts';
import { isFence, isLocked, isOurs, isSending, isSettled, recordedAs, type State } from './state.ts';
import { askAbout } from './status-client.ts';
import type { KeyRecord } from './storage.ts';
import { openTabs } from './tabs.ts';
import { sleep, untilOnline } from './wait.ts';

/** Events that change what is seen, not what is known: storage keeps what it has. */
export const OF_THE_VIEW: Event<unknown>['type'][] = ['submitted', 'shown', 'told', 'issued', 'edited', 'reset'];

const POLL_MS = 1000;
const POLL_FAILURES = 3;

/**
 * The edges of one form: runs what the machine decides. The state is plain and changes synchronously, so the second
 * submit of a double click meets the lock in the same tick (B2). Once stopped, nothing changes any more: the
 * record stays, and the next `start` asks about it.
 */
export function createSubmission<R>(initial: State<R>, settings: () => Settings<R>) {
  let state = initial;
  let life = new AbortController();
  let origin: Pick<KeyRecord, 'submittedAt' | 'reloaded'> | undefined;
  let tabs: ReturnType<typeof openTabs>;
  /** The keys whose end this page has seen. What others say of them is no news. */
  const done = new Set<string>();
  /** When this page began to look, by its own clock. */
  let born = 0;
  let notify: (() => void) | undefined;

  function dispatch(event: Event<R>): void {
    const before = state;
    state = reduce(state, event);
    if (state === before) return;
    const { status, key, attempt, result, recovered, redirect, nextKey, by } = state;
    const { intent, records, onSettled, onTransition } = settings();
    const settled = isSettled(state) && !isSettled(before);
    if (!OF_THE_VIEW.includes(event.type)) {
      const as = recordedAs(state);
      origin ??= { submittedAt: Date.now() };
      if (isOurs(records.read(intent), before, state)) {
        records.write(intent, as && { ...origin, version: 1, key, intent, state: as, nextKey });
      }
      const isRumour = before.by === 'told';
      const isGivenUp = event.type === 'found' && key !== before.key && !isRumour;
      // Also a redirect: a success, as a rule.
      if (settled || isGivenUp || status === 'hasNavigated') {
        done.add(before.key);
        if (!isRumour) tabs?.postMessage([intent, before.key]);
      }
    }
    notify?.();
    // Behind what happens here, which an error of theirs must not stop.
    queueMicrotask(() => onTransition?.({ intent, key, attempt, event: event.type, from: before.status, to: status }));
    if (settled) queueMicrotask(() => onSettled?.(result as Outcome<R>, { recovered }));
    if (status === 'hasNavigated' && redirect) location.assign(redirect);
    // A submit that waits polls by itself; everybody else's check begins here.
    if (by && by !== 'run' && (!before.by || event.type === 'shown')) void poll(life.signal);
  }

  /** Attempts until there is an answer, the budget is spent, or a person must decide. */
  async function run(form: FormData, signal: AbortSignal): Promise<void> {
    const { policy, intent, records } = settings();
    let startedAt = Date.now();
    for (let n = 1; state.isPending && !state.by && !signal.aborted; n++) {
      if (!navigator.onLine) {
        dispatch({ type: 'wentOffline' });
        await untilOnline(signal);
        [startedAt, n] = [Date.now(), 0]; // it was no attempt
        continue; // unless an edit has called it off
      }
      await records.exclusively(intent, () => {
        if (!signal.aborted) dispatch({ type: 'sent', again: n > 1, record: records.read(intent) });
      });
      if (signal.aborted || !isSending(state)) return; // an edit may have called it off while it waited for its turn
      const { key, attempt } = state;
      form.set(KEY_FIELD, key);
      form.delete(ATTEMPT_FIELD);
      if (attempt > 1) form.set(ATTEMPT_FIELD, String(attempt));
      const reply = await sendOnce(settings().action, form, policy.timeoutMs, signal);
      // What comes of a key that was given up meanwhile is no news about another one.
      if (signal.aborted || state.key !== key) return;

      const waitMs = reply.outcome?.retryAfterMs ?? fullJitter(n, policy, Math.random());
      if (reply.thrown) settings().onSteered(reply.thrown);
      // Actions queue up behind the one that hangs, so only the status route can help; or its answer, if it comes.
      void reply.late?.then((late) => {
        if (!signal.aborted && state.key === key && late.type !== 'lost') dispatch({ ...late, again: false });
      });
      // A new deployment does not know this page's action. The new page does, and it asks about the same key. Once, and
      // not where the key would be forgotten with the page.
      const reload = reply.isStale && !origin?.reloaded && records.isKept(intent);
      if (reload) origin = { submittedAt: startedAt, reloaded: true };
      const inTime = n < policy.attempts && Date.now() - startedAt + waitMs <= policy.totalMs;
      const again = inTime && !reply.thrown && !reply.late && !reload;
      dispatch({ ...reply, again });
      if (reload) location.reload();
      // A check by others goes on by itself.
      if (state.by === 'run') await poll(signal, again);
      else if (!state.by && state.isPending) await sleep(waitMs, signal);
    }
  }

  /** Asks about the key until it is settled. Many asks are cheaper than one place in the action queue. */
  async function poll(signal: AbortSignal, again = false): Promise<void> {
    const { policy, statusUrl, operation } = settings();
    const until = Date.now() + policy.pollMs;
    for (let failures = 0; state.by && !signal.aborted; ) {
      await untilOnline(signal);
      const { by, key } = state;
      const url = `${statusUrl}/${encodeURIComponent(operation)}/${encodeURIComponent(key)}`;
      const answer = await askAbout<R>(url, isFence(by) ? 'DELETE' : 'GET');
      if (signal.aborted || state.key !== key) return;
      if (answer) dispatch({ type: 'found', answer, again });
      else failures++;
      if (state.by && (failures >= POLL_FAILURES || Date.now() > until)) dispatch({ type: 'lost', again: false });
      // Another question is asked at once.
      if (state.by === by) await sleep(answer?.retryAfterMs ?? POLL_MS, signal);
    }
  }

  function start() {
    life = new AbortController();
    const { intent, records } = settings();
    const record = records.read(intent);
    dispatch({ type: 'shown', record });
    if (!record) return;
    if (record.state !== 'settled') origin = record;
    // Settled by another tab while this page did not listen.
    else if (record.submittedAt > born && !done.has(record.key)) dispatch({ type: 'told', key: record.key });
  }

  return {
    state: () => state,
    dispatch,
    subscribe(listener: () => void): () => void {
      notify = listener;
      return () => {};
    },
    /** Call when mounted. Also minds the back/forward cache and the other tabs. Returns how to stop. */
    start(): () => void {
      born ||= Date.now();
      tabs = openTabs((intent, key) => {
        if (intent === settings().intent && !done.has(key)) dispatch({ type: 'told', key });
      });
      // The answer to a form that was sent before this page could run: the other tabs have not heard of it.
      if (state === initial && isSettled(state)) tabs?.postMessage([settings().intent, state.key]);
      start();
      const onPageShow = (event: PageTransitionEvent) => {
        if (!event.persisted) return;
        life.abort(); // what was under way cannot have survived
        start();
      };
      window.addEventListener('pageshow', onPageShow);
      return () => {
        window.removeEventListener('pageshow', onPageShow);
        tabs = void tabs?.close();
        life.abort();
      };
    },
    /** Null when swallowed by the lock, or when it ended without an outcome. */
    async submit(form: FormData): Promise<Outcome<R> | null> {
      if (isLocked(state)) return null;
      origin = { submittedAt: Date.now(), reloaded: state.attempt ? origin?.reloaded : undefined };
      // Ends an earlier run that an edit has called off but that still waits for the network.
      life.abort();
      life = new AbortController();
      dispatch({ type: 'submitted' });
      await run(form, life.signal);
      return state.status === 'hasSucceeded' || state.status === 'hasErrored' ? state.result : null;
    },
  };
}
