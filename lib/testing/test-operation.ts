import type { Code } from '../core/codes.ts';
import { ATTEMPT_FIELD, formInput, KEY_FIELD, KEYLESS_FORM, type KeyedCall } from '../core/fields.ts';
import { issuedText, keyOfIssued, uuidV7 } from '../core/issued-key.ts';
import { executedBy, type Outcome, type Refusal, refuse } from '../core/outcome.ts';
import { isKey } from '../core/scope.ts';
import { moment } from '../core/wait.ts';
import { type Arrival, createTestKeys, proofOf, type TestEffect, type TestKeyStatus } from './test-keys.ts';

/** The operation's handler, and how patient its form has to be. */
export interface TestOperationOptions<R> {
  /**
   * The handler, whose effect is done once. Return its result, or `refuse(…)`: a `failed` is stored and replayed, other
   * refusals leave the key usable, and so does an error. A `redirect()` of Next's is a success.
   */
  run: (form: FormData, call: { key: string; attempt: number }) => R | Refusal | Promise<R | Refusal>;
  /** As of the operation. */
  volatile?: readonly string[];
  /** The wait that a key asks for while it is still running, in milliseconds. Default 20: tests are in a hurry. */
  retryAfterMs?: number;
}

/** An attempt that waits where `hold` has stopped it. */
export interface Held {
  /** Resolves when an attempt has come that far. */
  readonly reached: Promise<void>;
  /** Lets it go on. */
  release(): void;
  /** Lets it go on, but the browser hears nothing of it. What is held at `request` never comes to the server. */
  lose(): void;
}

/** On its way to the server, while it runs, or when it is done, before its answer. */
export type HoldingPoint = 'request' | 'run' | 'answer';

/** A server in memory that keeps the contract as a browser sees it. Faults befall the next attempts, in their order. */
export interface TestOperation<R> {
  readonly name: string;
  /** For `useIdempotentSubmit` and `<IdempotentForm>`, as a server action is. */
  readonly action: {
    (values: unknown, call: KeyedCall): Promise<Outcome<R>>;
    (previous: Outcome<R> | null, form: FormData): Promise<Outcome<R>>;
  };
  /** For `initialKey`. */
  issueKey(): string;
  /** The effects, in order. `expect(orders.effects).toHaveLength(1)` is the test to write. */
  readonly effects: readonly TestEffect<R>[];
  /** The attempts that the browser has sent, lost ones, too. */
  readonly attempts: readonly Arrival[];
  /** The questions to the status route, and the fences. */
  readonly questions: readonly { method: 'GET' | 'DELETE'; key: string }[];
  /** The next attempts never come to the server. */
  loseRequest(times?: number): void;
  /** The next attempts come to the server, but their answers are lost. */
  loseAnswer(times?: number): void;
  /** The next attempts are turned away before the key is looked at: `unauthorized`, `rate_limited`, `unavailable`, … */
  refuseNext(code: Code, details?: Partial<Omit<Refusal, 'ok' | 'code'>>, times?: number): void;
  /** The next attempt stops there until it is let go. Default `run`. */
  hold(point?: HoldingPoint): Held;
  /** Until `up`, nothing comes to the server, nor do questions to the status route. */
  down(): void;
  up(): void;
  readonly isDown: boolean;
  /** The key is past its window: where it was not used by now it never runs, and cannot be fenced either. */
  expire(key: string): void;
  /** The status route's answer about a key. */
  status(key: string): TestKeyStatus<R>;
  /** Gives a key up, unless it was used. */
  fence(key: string): TestKeyStatus<R> | Refusal;
}

/**
 * An operation for tests of forms without a server: one effect per key, the same answer for its retries, a mismatch for
 * other values, nothing after a fence; and the faults of a network, to see what the form says then. Together with
 * `serveStatus` it answers all that the browser half asks. It holds nothing but memory: make one for each test.
 *
 * ```tsx
 * const orders = testOperation('checkout', { run: (form) => ({ id: 7, note: form.get('note') }) });
 * orders.loseAnswer();
 * render(<CheckoutForm action={orders.action} initialKey={orders.issueKey()} />);
 * // … click, wait for the words …
 * expect(orders.effects).toHaveLength(1);
 * ```
 */
export function testOperation<R>(
  name: string,
  { run, volatile = [], retryAfterMs = 20 }: TestOperationOptions<R>,
): TestOperation<R> {
  const keys = createTestKeys<R>({ name, volatile, retryAfterMs, run: ({ form, ...call }) => run(form, call) });
  const attempts: Arrival[] = [];
  const questions: { method: 'GET' | 'DELETE'; key: string }[] = [];
  const faults: Fault[] = [];
  const next = (fault: Fault, times = 1) => void faults.push(...Array<Fault>(times).fill(fault));
  let isDown = false;

  async function action(first: unknown, second: FormData | KeyedCall): Promise<Outcome<R>> {
    const sent =
      second instanceof FormData ? { form: copyForm(second) } : { form: formOf(first, second), values: first };
    const { form } = sent;
    const key = keyOfIssued(String(form.get(KEY_FIELD) ?? ''));
    const arrival = { key, attempt: Number(form.get(ATTEMPT_FIELD) ?? 1), ...sent };
    attempts.push(arrival);
    if (isDown) throw disconnected();
    const fault = faults.shift();
    const outcome = await (fault ? fault(arrival, serve) : serve(arrival));
    return second instanceof FormData ? withValues(outcome, form) : outcome;
  }

  const serve: Serve<R> = async (arrival, whileRunning = async () => {}) => {
    if (isKey(arrival.key)) return await keys.submit(arrival, whileRunning);
    const code = arrival.key === '' ? 'key_missing' : 'key_malformed';
    const executed = executedBy(proofOf(arrival));
    return refuse(code, { executed, nextKey: uuidV7(Date.now()), message: KEYLESS_FORM });
  };

  return {
    effects: keys.effects,
    questions,
    status(key) {
      questions.push({ method: 'GET', key });
      return keys.status(key);
    },
    fence(key) {
      questions.push({ method: 'DELETE', key });
      return keys.fence(key);
    },
    expire: keys.expire,
    name,
    action,
    attempts,
    issueKey: () => issuedText(uuidV7(Date.now()), volatile),
    loseRequest: (times) => next(lostRequest, times),
    loseAnswer: (times) => next(lostAnswer, times),
    refuseNext: (code, details, times) => next(refusal(code, details), times),
    hold(point = 'run') {
      const { fault, held } = holding(point);
      next(fault);
      return held;
    },
    down() {
      isDown = true;
    },
    up() {
      isDown = false;
    },
    get isDown() {
      return isDown;
    },
  };
}

/** Has the server deal with an attempt. `whileRunning` comes between the claim and the handler. */
type Serve<R> = (arrival: Arrival, whileRunning?: () => Promise<void>) => Promise<Outcome<R>>;

/** The fate of one attempt. */
type Fault = <R>(arrival: Arrival, serve: Serve<R>) => Promise<Outcome<R>>;

const lostRequest: Fault = () => Promise.reject(disconnected());

const lostAnswer: Fault = async (arrival, serve) => {
  await serve(arrival).catch(() => {}); // a redirect is lost as well
  throw disconnected();
};

function refusal(code: Code, details: Partial<Omit<Refusal, 'ok' | 'code'>> = {}): Fault {
  return async (arrival) => {
    const executed = executedBy(code === 'key_invalid' ? 'none' : proofOf(arrival));
    return refuse(code, { executed, key: arrival.key, nextKey: uuidV7(Date.now()), ...details });
  };
}

function holding(point: HoldingPoint): { fault: Fault; held: Held } {
  const { reached, reach } = moment();
  let end = (_: 'released' | 'lost') => {};
  const ended = new Promise<'released' | 'lost'>((resolve) => (end = resolve));
  let isReached = false; // a replay never runs
  const stop = async () => {
    isReached = true;
    reach();
    await ended;
  };
  const fault: Fault = async (arrival, serve) => {
    if (point === 'request') {
      await stop();
      if ((await ended) === 'lost') throw disconnected();
    }
    const answer = serve(arrival, point === 'run' ? stop : undefined);
    await answer.catch(() => {}); // thrown below, unless it is lost
    if (point === 'answer') await stop();
    if (isReached && (await ended) === 'lost') throw disconnected();
    return await answer;
  };
  return { fault, held: { reached, release: () => end('released'), lose: () => end('lost') } };
}

/** The error that `fetch` rejects with when the connection breaks. */
export function disconnected(): TypeError {
  return new TypeError('Failed to fetch');
}

/** Adds what was entered, to fill the form again. Unlike the engine it leaves no secret out: a test has none. */
function withValues<R>(outcome: Outcome<R>, form: FormData): Outcome<R> {
  if (outcome.ok) return outcome;
  const values = formInput(form, (_name, value) => typeof value === 'string') as Record<string, string | string[]>;
  return { ...outcome, values };
}

/** A copy, since the browser half sets its fields anew for each attempt. */
function copyForm(form: FormData): FormData {
  const copy = new FormData();
  for (const [name, value] of form) copy.append(name, value);
  return copy;
}

/** Values as a form with their paths for names, so that they are compared and kept as forms are. */
function formOf(values: unknown, { key, attempt = 1 }: KeyedCall): FormData {
  const form = new FormData();
  form.set(KEY_FIELD, key);
  form.set(ATTEMPT_FIELD, String(attempt));
  const add = (path: string, value: unknown): void => {
    if (value instanceof Blob) form.append(path, value);
    else if (value instanceof Date) form.append(path, value.toJSON());
    else if (typeof value !== 'object' || value === null) form.append(path, String(value));
    else for (const [name, inner] of Object.entries(value)) add(path ? `${path}.${name}` : name, inner);
  };
  add('', values);
  return form;
}
