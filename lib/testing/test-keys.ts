import { ATTEMPT_FIELD, isInternalField } from '../core/fields.ts';
import { uuidV7 } from '../core/issued-key.ts';
import type { KeyStatus } from '../core/key-state.ts';
import {
  executedBy,
  MISMATCH_MESSAGES,
  type Outcome,
  type Proof,
  proofOfCall,
  type Refusal,
  refuse,
} from '../core/outcome.ts';
import { isControlFlow, redirectOf } from '../core/redirect.ts';
import { isVolatile } from '../core/volatile.ts';

/** One attempt, as it has reached the server. */
export interface Arrival {
  key: string;
  /** 1 for the first, also where the form does not say. */
  attempt: number;
  form: FormData;
  /** Where values were sent instead of a form; their text is in `form`, by path. */
  values?: unknown;
}

/** Something that was done. */
export interface TestEffect<R> {
  key: string;
  data: R;
  form: FormData;
}

/** The status route's answer about a key. */
export type TestKeyStatus<R> = Omit<KeyStatus<R>, 'thing' | 'by'>;

interface Row<R> {
  state: 'in_progress' | 'succeeded' | 'failed' | 'abandoned';
  /** Undefined for a tombstone, which never saw a form. */
  fingerprint?: string;
  outcome?: Outcome<R>;
  /** The redirect in which it ended. */
  thrown?: unknown;
  /** When it ended. */
  settledAt?: Date;
}

interface Settings<R> {
  name: string;
  run: (arrival: Arrival) => R | Refusal | Promise<R | Refusal>;
  volatile: readonly string[];
  retryAfterMs: number;
}

/** The rows of one operation in memory, and the rules that decide by them: those of the engine (contract O, S). */
export function createTestKeys<R>({ name, run, volatile, retryAfterMs }: Settings<R>) {
  const rows = new Map<string, Row<R>>();
  const expired = new Set<string>();
  const effects: TestEffect<R>[] = [];

  /** Runs or replays. `claimed` comes between the claim and the handler. Throws what steers Next. */
  async function submit(arrival: Arrival, claimed: () => Promise<void>): Promise<Outcome<R>> {
    const { key } = arrival;
    const keys = { key, nextKey: uuidV7(Date.now()) };
    const fingerprint = await testFingerprint(arrival.form, volatile);
    const row = rows.get(key);
    if (row) return decide(row, fingerprint, keys);
    if (expired.has(key)) return refuse('key_expired', keys);

    const claim: Row<R> = { state: 'in_progress', fingerprint };
    rows.set(key, claim);
    await claimed();
    const ended = await attempt(arrival);
    if (!ended.stored) {
      rows.delete(key);
      if (ended.thrown) throw ended.thrown;
      return { ...ended.outcome, executed: executedBy(ended.proof), ...keys };
    }
    const outcome: Outcome<R> = { ...ended.outcome, ...keys };
    const state = outcome.ok ? 'succeeded' : 'failed';
    Object.assign(claim, { state, outcome, thrown: ended.thrown, settledAt: new Date() });
    if (outcome.ok) effects.push({ key, data: outcome.data, form: arrival.form });
    if (ended.thrown) throw ended.thrown;
    return outcome;
  }

  /** The handler's outcome, and whether it is kept under the key (S2, R2). */
  async function attempt(arrival: Arrival) {
    try {
      const data = await run(arrival);
      if (!isRefusal(data)) return { stored: true, outcome: success(structuredClone(data)) } as const;
      if (data.code !== 'failed') return { stored: false, outcome: data, proof: proofOf(arrival) } as const;
      return { stored: true, outcome: { ...data, executed: executedBy('refusal'), replayed: false } } as const;
    } catch (thrown) {
      if (redirectOf(thrown)) return { stored: true, outcome: success(undefined as R), thrown } as const;
      const steers = isControlFlow(thrown) ? thrown : undefined;
      return { stored: false, outcome: refuse('internal'), proof: 'rolled_back', thrown: steers } as const;
    }
  }

  function decide(row: Row<R>, fingerprint: string, keys: { key: string; nextKey: string }): Outcome<R> {
    const outcome = row.outcome && replayed(row.outcome, keys);
    if (row.state === 'abandoned') return abandoned(keys);
    // A handler that still runs may roll back, and then the other values are as good.
    if (outcome && row.fingerprint !== fingerprint) {
      const message = MISMATCH_MESSAGES[row.state];
      const executed = outcome.ok || outcome.executed;
      return refuse('payload_mismatch', { executed, message, data: { first: outcome }, ...keys });
    }
    if (row.thrown) throw row.thrown;
    return outcome ?? refuse('in_flight', { retryAfterMs, ...keys });
  }

  function status(key: string): TestKeyStatus<R> {
    const keys = { key, nextKey: uuidV7(Date.now()) };
    const { state, outcome, thrown, settledAt } = rows.get(key) ?? { state: 'absent' };
    const status: TestKeyStatus<R> = { operation: name, state, ...keys };
    if (state === 'in_progress') status.retryAfterMs = retryAfterMs;
    if (state === 'abandoned') status.outcome = abandoned(keys);
    if (outcome) status.outcome = replayed(outcome, keys);
    if (settledAt) status.settledAt = settledAt.toISOString();
    const redirect = redirectOf(thrown)?.url;
    return redirect ? { ...status, redirect } : status;
  }

  /** The tombstone, or the state of what was faster; a refusal where the key is too old for either (S5). */
  function fence(key: string): TestKeyStatus<R> | Refusal {
    if (!rows.has(key)) {
      if (expired.has(key)) return refuse('key_expired', { key, nextKey: uuidV7(Date.now()) });
      rows.set(key, { state: 'abandoned', settledAt: new Date() });
    }
    return status(key);
  }

  return { effects, submit, status, fence, expire: (key: string): void => void expired.add(key) };
}

/** Equal for forms that mean the same, as F1 has it: values in order per name, names sorted, files by content. */
async function testFingerprint(form: FormData, volatile: readonly string[]): Promise<string> {
  const counted = [...form].filter(([name]) => !isInternalField(name) && !isVolatile(name, volatile));
  const sent = counted.sort(([a], [b]) => (a < b ? -1 : Number(a > b)));
  const fields = sent.map(async ([name, value]) => {
    if (typeof value === 'string') return [name, value.replaceAll(/\r\n?/g, '\n')];
    return [name, value.name, value.type, ...new Uint8Array(await value.arrayBuffer())];
  });
  return JSON.stringify(await Promise.all(fields));
}

/** The proof that an attempt is by itself: none, where its form does not say that it is the first. */
export function proofOf({ form }: Pick<Arrival, 'form'>): Proof {
  return proofOfCall({ attempt: Number(form.get(ATTEMPT_FIELD)) });
}

function abandoned(keys: { key: string; nextKey: string }): Refusal {
  return refuse('key_abandoned', { executed: executedBy('tombstone'), ...keys });
}

const UNKEYED = { replayed: false, key: '', nextKey: '' };

function success<R>(data: R): Outcome<R> {
  return { ok: true, data, ...UNKEYED };
}

function replayed<R>(outcome: Outcome<R>, keys: { key: string; nextKey: string }): Outcome<R> {
  return { ...structuredClone(outcome), replayed: true, ...keys };
}

function isRefusal(value: unknown): value is Refusal {
  const { ok, code } = (typeof value === 'object' && value !== null ? value : {}) as Partial<Refusal>;
  return ok === false && typeof code === 'string';
}
