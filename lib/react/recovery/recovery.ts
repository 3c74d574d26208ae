import { fullJitter } from '../../core/backoff.ts';
import { tryOr } from '../../core/errors.ts';
import { sleep } from '../../core/wait.ts';
import type { RetryPolicy } from '../idempotent-submit.ts';
import { sendAttempt } from '../submission/attempt.ts';
import type {
  ActionReply,
  PendingAttempt,
  Recovery,
  Send,
  Settings,
  SubmissionContext,
} from '../submission/context.ts';
import { type Event, isViewEvent } from '../submission/machine.ts';
import { hasFinalAnswer, isFence, type State } from '../submission/state.ts';
import { createJudge } from './judge.ts';
import { RECOVERY_HANDLERS } from './machine.ts';
import { askStatus, isReachable, probeStatusRoute } from './status-client.ts';
import { hasUnreadableFile } from './values.ts';
import { watchVisits } from './visits.ts';

export { ErrorSummary } from './error-summary.tsx';
export { LATER_LABELS, laterLabel, leaveFocus } from './later-status.ts';
export { canStartOver } from './machine.ts';

export const DEFAULT_POLICY: RetryPolicy = {
  // Long enough for a killed server to be started again.
  attempts: 8,
  baseMs: 400,
  capMs: 4000,
  totalMs: 30_000,
  timeoutMs: 10_000,
  pollMs: 60_000,
};

const POLL_MS = 1000;
/** While the browser says that it is offline, whether the server is there is found out so often. */
const LOOK_MS = 4000;
/** A check ends when so many of its questions in a row had no answer. */
const POLL_FAILURES = 3;

/** Comes while the page is idle, so that the first load stays small (ADR 34). */
export function createRecovery<R>(form: SubmissionContext<R>): Recovery<R> {
  const { state, dispatch, settings, lifetime, start } = form;
  /** Keys whose end this page has seen. News of them from other tabs is ignored. */
  const endedKeys = new Set<string>();
  /** By the clock of this form. */
  const createdAt = Date.now();
  let tabs: ReturnType<typeof openTabs>;
  let listeningUntil: AbortSignal | undefined;
  let latestPoll: object | undefined;
  /** Attempts that nobody waits for any more and that have not ended, with their keys. */
  const lateKeys = new Map<PendingAttempt<R>, string>();
  const judge = createJudge(form);
  const visits = watchVisits(form);

  async function run(send: Send<R>, signal: AbortSignal, first?: PendingAttempt<R>): Promise<void> {
    const { intent, records } = settings();
    const policy = policyOf(settings());
    let startedAt = form.meta?.submittedAt ?? Date.now();
    const page = lifetime();
    let out = first;
    for (let n = 1; state().isPending && !state().by && !signal.aborted; n++) {
      // What the browser says is a hint: some have a network of which it does not know.
      if (!out && !navigator.onLine && !(await isReachable(location.href))) {
        if (signal.aborted) return;
        dispatch({ type: 'wentOffline' });
        await untilOnline(signal);
        [startedAt, n] = [Date.now(), 0]; // it was no attempt
        continue; // unless an edit has called it off
      }
      // A change that no event has told of. The other values may be meant.
      if (!out && judge.isEdited()) {
        dispatch({ type: 'edited' });
        continue;
      }
      out ??= sendAttempt(form, send, n > 1, signal);
      const { key } = state();
      const reply = await Promise.race([out, sleep(policy.timeoutMs, signal).then((): 'late' => 'late')]);
      const isLate = reply === 'late';
      if (isLate && !page.aborted) void awaitLate(out, key, page);
      if (signal.aborted || !reply) return;
      out = undefined;
      const { thrown, outcome, type }: Partial<ActionReply<R>> = isLate ? {} : reply;
      const askedMs = outcome?.ok === false ? outcome.retryAfterMs : undefined;
      const waitMs = askedMs ?? fullJitter(n, policy, Math.random());
      // The new page knows the action, and asks about the same key. Once, and not where the key would be forgotten with the page.
      const reload = isUnknownAction(thrown) && !form.meta?.reloaded && records.isKept(intent);
      if (reload) form.meta = { ...form.meta, submittedAt: startedAt, reloaded: true };
      const inTime = () => n < policy.attempts && Date.now() - startedAt + waitMs <= policy.totalMs;
      // The error of `notFound()` and its like, which Next catches while rendering.
      const steers = `${Object(thrown).digest}`.startsWith('NEXT_');
      if (steers) settings().rethrow(thrown);
      const isLost = type === 'lost' && !steers && !reload;
      if (isLost) form.endPending(); // finding out why is no part of the attempt
      const isUnreadable = isLost && (await hasUnreadableFile(judge.sentUnder(state().key)));
      // A second attempt makes up for most losses sooner than this is found out.
      const looks = isLost && !isUnreadable && (n === 2 || !inTime());
      const isElsewhere = looks && (await askStatus(settings(), state().key, 'GET'))?.state === 'elsewhere';
      if (signal.aborted) return;
      const again = inTime() && !steers && !isLate && !reload && !isUnreadable;
      // Actions queue up behind the one that hangs, so only the status route can help; or its answer, if it comes. Nor do more
      // attempts help where a file cannot be read, or where something else answers.
      dispatch(reply === 'late' || isUnreadable || isElsewhere ? { type: 'asked', by: 'run' } : { ...reply, again });
      if (reload) location.reload();
      const asks = state().by === 'run';
      if (asks) await poll(again);
      // A check by others goes on by itself. A stored answer is fetched at once. A key that is absent after an answer was turned
      // away without a claim, such as while another key does its thing: sent at once, all attempts would be gone in a second.
      if (!state().by && state().isPending && (!asks || state().cause)) await sleep(waitMs, signal);
    }
  }

  /** An attempt cannot be aborted, so one that is late is still out, and its end counts. */
  async function awaitLate(out: PendingAttempt<R>, key: string, page: AbortSignal): Promise<void> {
    lateKeys.set(out, key);
    const late = await out;
    lateKeys.delete(out);
    if (page.aborted) return;
    if (late && late.type !== 'lost') dispatch({ ...late, again: false, isLate: true });
    // It is on its way no more. A submit that tries again by itself goes on.
    else if (state().cause === 'late' && !state().isPending) dispatch({ type: 'asked', by: 'person' });
  }

  // Asking often is cheaper than one place in the action queue.
  async function poll(again = false): Promise<void> {
    const signal = lifetime();
    const until = Date.now() + policyOf(settings()).pollMs;
    const thisPoll = {};
    latestPoll = thisPoll;
    for (let failures = 0; state().by && !signal.aborted; ) {
      const { by, key } = state();
      const asked = isFence(by) ? key : firstKey(state());
      let answer = await askStatus<R>(settings(), asked, isFence(by) ? 'DELETE' : 'GET');
      // Another key has done what this one was for, and its row is the one that there is.
      if (answer?.by) answer = await askStatus<R>(settings(), answer.by, 'GET');
      // A person who changes the form may have chosen another one.
      const isUnreadable = by !== 'edit' && !isFence(by) && (await hasUnreadableFile(judge.sentUnder(key)));
      if (signal.aborted || state().key !== key) return;
      const isOffline = !answer && !navigator.onLine;
      failures = answer || isOffline ? 0 : failures + 1;
      const cause = isUnreadable ? 'unreadable' : undefined;
      const isLate = [...lateKeys.values()].includes(key);
      if (answer) {
        const visitKey = visits.keyOfVisit(answer);
        // What cannot be sent is not sent once more for its replay either.
        dispatch({ type: 'found', answer, again: again && !isUnreadable, cause: isLate ? 'late' : cause, visitKey });
      }
      if (latestPoll !== thisPoll) return; // another check has begun meanwhile, and asks by itself
      if (failures >= POLL_FAILURES || Date.now() > until) dispatch({ type: 'unanswered', cause });
      // Another question is asked at once.
      if (state().by === by) await (isOffline ? untilOnline(signal) : sleep(answer?.retryAfterMs ?? POLL_MS, signal));
    }
  }

  function listen(): void {
    const signal = lifetime();
    if (signal.aborted || signal === listeningUntil) return;
    const isFirst = !listeningUntil;
    listeningUntil = signal;
    const { intent, records } = settings();
    tabs = openTabs((about, key) => {
      if (about === settings().intent && !endedKeys.has(key)) dispatch({ type: 'otherTabSettled', key });
    });
    signal.addEventListener('abort', () => (tabs = void tabs?.close()));
    signal.addEventListener('abort', () => lateKeys.clear()); // of a page that is shown again nothing is out
    judge.listen(signal);
    window.addEventListener('online', askInDoubt, { signal });
    // After this event, or the listener that `start` adds would get it, too.
    window.addEventListener('pageshow', ({ persisted }) => persisted && queueMicrotask(start), { signal });
    if (isFirst) {
      if (process.env.NODE_ENV === 'development') probeStatusRoute(settings(), state().key);
      // The key has ended before anybody listened, or was sent before this page could run.
      if (hasFinalAnswer(state())) end(state().key);
      if (state().isOut) visits.left();
      if (state().status === 'hasNavigated') visits.led(true);
      const { waiting } = form;
      if (!waiting) askInDoubt();
      else {
        dispatch({ type: 'submitted' });
        void run(...waiting);
      }
    }
    // Settled by another tab while this page did not listen.
    const record = records.read(intent);
    if (record?.state === 'settled' && record.submittedAt > createdAt && !endedKeys.has(record.key)) {
      dispatch({ type: 'otherTabSettled', key: record.key });
    }
  }

  function askInDoubt(): void {
    const { status, isPending } = state();
    if (status === 'unknown' && !isPending) dispatch({ type: 'shown', record: null });
  }

  function end(key: string): void {
    endedKeys.add(key);
    tabs?.postMessage([settings().intent, key]);
  }

  function follow(event: Event<R>, before: State<R>): void {
    judge.follow(event, before);
    const { type } = event;
    if (type === 'sent') visits.left();
    const { status, key, redirect } = state();
    const isOver = status === 'hasNavigated' || (hasFinalAnswer(state()) && !hasFinalAnswer(before));
    // The key was given up or is settled. A redirect is a success, as a rule.
    if (!isViewEvent(type) && (isOver || (type === 'found' && key !== before.key))) {
      // The other tabs have told it, or were told as it ended.
      const isTold = before.by === 'otherTab' || before.by === 'arrived' || ('visitKey' in event && event.visitKey);
      if (isTold) endedKeys.add(before.key);
      else end(before.key);
    }
    if (status !== 'hasNavigated') return;
    if (redirect) location.assign(redirect);
    visits.led();
  }

  return {
    handlers: {
      ...RECOVERY_HANDLERS,
      edited: (was, event) => (event.isSubmitted || judge.isEdit() ? RECOVERY_HANDLERS.edited(was, event) : was),
    },
    judge: judge.judge,
    sendAgain: judge.sendAgain,
    ...{ run, poll, listen, follow },
  };
}

/** The key whose answer counts: a mismatch names another one, which has done what this key was for. */
function firstKey<R>({ key, result }: State<R>): string {
  return (result?.ok === false && result.code === 'payload_mismatch' && result.key) || key;
}

function policyOf<R>({ policy }: Settings<R>): RetryPolicy {
  return { ...DEFAULT_POLICY, ...policy };
}

/** A new deployment does not know this page's action. */
function isUnknownAction(thrown: unknown): boolean {
  return (Object(thrown) as Partial<Error>).name === 'UnrecognizedActionError';
}

/**
 * Receives the keys that other tabs have seen settled, or have given up. A message is a hint: its receiver asks the
 * server. Without a channel (old browsers, simulated ones, blocked storage) a tab knows of others what their shared storage says.
 */
function openTabs(onEnd: (intent: string, key: string) => void): BroadcastChannel | undefined {
  return tryOr(() => {
    const channel = new window.BroadcastChannel('oncekit');
    channel.onmessage = ({ data: [intent, key] }) => onEnd(intent, key);
    return channel;
  });
}

/** Resolves when the browser says that it is online, when it is time to look without that, or when the signal aborts. */
export function untilOnline(signal: AbortSignal): Promise<void> {
  const wait = new AbortController();
  const end = () => wait.abort();
  window.addEventListener('online', end, { signal: wait.signal });
  signal.addEventListener('abort', end, { signal: wait.signal });
  if (signal.aborted) end();
  return sleep(LOOK_MS, wait.signal).finally(end);
}
