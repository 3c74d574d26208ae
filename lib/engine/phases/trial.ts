import { derivedKey } from '../../core/key.ts';
import { seal } from '../../core/seal.ts';
import type { StepKind } from '../../store/leases.ts';
import type { LostStep } from '../../store/lost-keys.ts';
import { encodeStep } from '../answer.ts';
import type { Call } from '../call.ts';
import { timeLeft } from '../deadline.ts';
import type { AtomicDefinition, PhasedDefinition } from '../definition.ts';
import { createCapture, defer, fail, runToEnd } from '../handler.ts';
import { errorName } from '../log.ts';
import type { ForeignCall } from './context.ts';
import { readStep, redirectInside } from './database-steps.ts';
import { readLookedUp, runInTime } from './foreign-exchange.ts';
import { Journal } from './journal.ts';

/** A foreign system's answer about a call. `unasked`: it has no look-up, or that gave no answer. */
type CallAnswer = 'found' | 'absent' | 'pending' | 'unasked';

/**
 * Finds out what the outside knows of an operation that this database has no key of: the operation runs once more, in one
 * transaction that its caller rolls back, and sends nothing.
 */
export class Trial {
  /** In the order in which the operation makes them; the last one may be other than found, and then the trial ends. */
  readonly calls: { name: string; answer: CallAnswer }[] = [];
  /** The captured values, and the calls that were found or may have been made, for the entry. */
  readonly steps: LostStep[] = [];
  /** There where it did not come to its end: a call was not found, or `why`. */
  ended: { why: string | undefined } | undefined;
  /** Told when it is over, to those whose step goes on behind it. */
  readonly #over = new AbortController();
  readonly signal = this.#over.signal;

  /** Ends it, whatever the function makes of what is thrown. */
  end(why?: string): never {
    this.close(why);
    throw new TrialEnded();
  }

  /** Lets a function that goes on, also behind the trial's transaction, make no more steps. The first reason stays. */
  close(why?: string): void {
    this.ended ??= { why };
    this.#over.abort();
  }
}

class TrialEnded extends Error {
  override readonly name = 'TrialEnded';
}

/** An input of the operation, and the transaction that the trial is in. */
interface TrialRun<Tx> {
  input: unknown;
  tx: Tx;
}

/** Runs the operation. It may end by a refusal or an error, as outside of a trial: what is known by then counts. */
export async function tryOperation<Tx>(trial: Trial, call: Call<Tx>, run: TrialRun<Tx>): Promise<void> {
  const { definition } = call;
  const work = () => (definition.phases ? tryPhases(trial, call, definition, run) : tryHandler(call, definition, run));
  try {
    const ended = await runToEnd(work, undefined);
    if (ended.kind === 'refusal') trial.close(ended.reason);
    else if (ended.kind === 'data' && ended.isThrown) trial.close('a Response');
  } catch (error) {
    trial.close(errorName(error));
  }
}

/** The handler of an operation in one transaction announces what it announces. */
async function tryHandler<Tx>(
  { id: { key, ...scope }, request }: Call<Tx>,
  { handler }: AtomicDefinition<Tx>,
  { input, tx }: TrialRun<Tx>,
): Promise<unknown> {
  const context = { input: input as never, tx, key, scope, context: request.context ?? [] };
  return await handler({ ...context, capture: createCapture(), fail, defer, afterCommit: () => {} });
}

/** The phases of a function are all in one transaction, and its foreign calls are looked up. */
async function tryPhases<Tx>(
  trial: Trial,
  call: Call<Tx>,
  { phases }: PhasedDefinition<Tx>,
  { input, tx }: TrialRun<Tx>,
): Promise<unknown> {
  const { key, ...scope } = call.id;
  const journal = new Journal([]);
  const step = async <R>(name: string, kind: StepKind, work: (position: number) => Promise<R>): Promise<R> => {
    if (trial.ended) return trial.end();
    try {
      const { position } = journal.enter(name, kind);
      return await work(position);
    } catch (error) {
      return trial.end(errorName(error));
    } finally {
      journal.leave();
    }
  };
  const signal = AbortSignal.any([trial.signal, AbortSignal.timeout(Math.max(0, Math.ceil(timeLeft(call.deadline))))]);
  return await phases({
    input: input as never,
    key,
    scope,
    context: call.request.context ?? [],
    fail,
    defer,
    signal,
    atomic: (name, run) =>
      step(name, 'atomic', async () => {
        const ended = await runToEnd(run, tx);
        if (ended.kind === 'refusal') return trial.end(ended.reason);
        if (ended.kind !== 'data') throw redirectInside(name);
        return readStep(encodeStep(`result of ${name}`, ended.data));
      }),
    capture: (name, make, version) =>
      step(name, 'capture', async (position) => {
        const result = encodeStep(`result of ${name}`, await make(), version?.version);
        trial.steps.push({ kind: 'capture', name, position, result });
        return readStep(result);
      }),
    foreign: (name, foreign) =>
      step(name, 'foreign', (position) => lookUp(trial, call, foreign, { name, position, signal })),
    get deadlineMs() {
      return Math.max(0, Math.round(timeLeft(call.deadline)));
    },
  });
}

/** A result that was found is the step's; behind anything else nobody knows how the operation would go on. */
async function lookUp<Tx, A, R>(
  trial: Trial,
  { id, mintedAt, engine: { config }, deadline }: Call<Tx>,
  foreign: ForeignCall<A, R>,
  { name, position, signal }: { name: string; position: number; signal: AbortSignal },
): Promise<R> {
  const text = encodeStep(`arguments of ${name}`, foreign.arguments, foreign.version);
  const idempotencyKey = derivedKey(config.namespace, id, name);
  const ask = async () => {
    const { lookup } = foreign;
    if (!lookup) return 'unasked' as const;
    const limits = { signal, timeoutMs: foreign.timeoutMs, leftMs: timeLeft(deadline) };
    const asked = runInTime(idempotencyKey, limits, (request) => lookup.call(foreign, readStep<A>(text), request));
    return readLookedUp<R>(name, await asked);
  };
  const looked = await ask().catch((error): 'unasked' => {
    config.onError(error, { operation: id.operation, key: id.key, during: 'checks' });
    return 'unasked';
  });
  const result = typeof looked === 'string' ? null : encodeStep(`result of ${name}`, looked.found, foreign.version);
  trial.calls.push({ name, answer: typeof looked === 'string' ? looked : 'found' });
  trial.steps.push({
    kind: 'foreign',
    name,
    position,
    result,
    arguments: seal(text, `arguments of ${name}`, id, config.secrets),
    derivedKey: idempotencyKey,
    notBefore: mintedAt,
    providerKeyTtlMs: foreign.providerKeyTtlMs ?? 0,
  });
  return result === null ? trial.end() : readStep<R>(result);
}
