import type { Fingerprint } from '../../core/fingerprint.ts';
import { isSettled } from '../../core/key-state.ts';
import { seal } from '../../core/seal.ts';
import type { LeasedClaim } from '../../store/leases.ts';
import { StoreUnavailableError } from '../../store/store.ts';
import { type Call, pointOf, storeFor } from '../call.ts';
import { comparePayload, type FlightResult, mayReplay } from '../call-result.ts';
import { timeLeft } from '../deadline.ts';
import type { PhasedDefinition } from '../definition.ts';
import { recordTransition } from '../instrumentation.ts';
import { isOfOtherKey, isTheirs } from '../thing.ts';
import { type Claiming, claimOf, mayTryAgain } from '../transaction.ts';
import { runHeld } from './executor.ts';
import { openTransaction } from './open-transaction.ts';
import { encodeInput } from './stored-input.ts';

/**
 * Claims the key and runs the phases; or goes on with a key that its executor has left: this one, if the payload is the same,
 * or another of the caller's that holds the thing.
 *
 * `claimed`: called as soon as the key has a committed row that the call's payload fits, with the row's fingerprint
 */
export async function executeInPhases<Tx>(
  call: Call<Tx>,
  definition: PhasedDefinition<Tx>,
  { input, waitMs, thing, claimed }: Claiming & { input: unknown; claimed: (of: Fingerprint | null) => void },
): Promise<FlightResult> {
  const { engine, id, fingerprint, request, deadline } = call;
  const { config, slots } = engine;
  const store = storeFor(call);
  const { signal: stop, response, innerRetries, context = [], method } = request;
  const limits = { deadline, stop, response, innerRetries, method };
  const text = encodeInput({ input, context, method }, definition.options);
  await config.onPoint?.('before-claim', pointOf(call));
  const claim: LeasedClaim = {
    ...claimOf(call, config.phasesRetentionMs, { waitMs: 0, thing }),
    leaseMs: config.leaseMs,
    // Drawn, and not 1: a failover may lose a key, and an executor that still runs must not take for its own the row of whoever
    // has claimed it again. Small enough that takeovers never come to the end of an int4.
    firstToken: 1 + Math.floor(Math.random() * 2 ** 30),
    input: seal(text, 'input', id, config.secrets),
  };
  const run = { engine, options: definition.options, deadline };
  const claimOnce = () =>
    slots
      .patiently(
        Math.min(waitMs, timeLeft(deadline)),
        (wait) => openTransaction(run, { claim: { ...claim, waitMs: wait } }),
        (begun) => 'kind' in begun && begun.kind === 'locked',
      )
      .catch((error) => ({ kind: 'rolled_back' as const, error, why: 'error' as const }));
  let begun = await claimOnce();
  // At a stricter level than READ COMMITTED a wait for another's claim ends in a conflict.
  for (let attempt = 1; 'why' in begun && begun.why === 'conflict' && (innerRetries ?? true); attempt++) {
    if (!(await mayTryAgain(attempt, deadline))) break;
    begun = await claimOnce();
  }
  if ('tx' in begun) {
    call.hasClaimed = true;
    const committed = () => {
      claimed(fingerprint);
      recordTransition(config, id, { from: 'absent', to: 'in_progress', attempt: 1, fingerprint });
    };
    return await runHeld(engine, definition, begun.held, limits, { claim, open: begun, committed });
  }
  if (begun.kind === 'rolled_back') return { ...begun, at: 'claim' };
  if (begun.kind !== 'existing' || isSettled(begun.row.state)) return begun;
  const { row } = begun;
  const isOther = isOfOtherKey(row, id);
  if (isOther ? !isTheirs(row, call.who) : comparePayload(row, call, config.secrets) !== 'same') return begun;
  if (!isOther) claimed(row.fingerprint);
  // What is stored of it is in the answer. A completer goes on with it all the same.
  if (!(await mayReplay(engine, definition, { ...id, key: row.key }, deadline))) return begun;
  const taken = await inDoubt(async () => ({
    kind: 'taken' as const,
    held: await store.takeOver(row, config.leaseMs, true),
  }));
  if (taken.kind === 'in_doubt') return taken;
  if (taken.held) {
    const { id: taking, state, attempts } = taken.held;
    const to = { from: row.state, to: state, attempt: attempts, ...(isOther ? {} : { fingerprint }) };
    recordTransition(config, taking, to);
    const ended = await runHeld(engine, definition, taken.held, limits);
    // To this caller the answer of another key is a replay; and only its answer tells that a key is another method's.
    const isOwn = ended.kind === 'committed' && !isOther && comparePayload(ended.row, call, config.secrets) === 'same';
    return ended.kind === 'committed' && !isOwn ? { kind: 'existing', row: ended.row } : ended;
  }
  // Its executor lives, or has just finished: what is there now decides.
  return await inDoubt(async () => ({ kind: 'existing' as const, row: (await store.find(row)) ?? row }));
}

/**
 * The database did not answer a claim, or a question about a row that is there: the claim may have been committed, and
 * then a completer goes on with it. So nothing may be said to be unexecuted.
 */
async function inDoubt<T>(ask: () => Promise<T>): Promise<T | { kind: 'in_doubt'; error: unknown }> {
  try {
    return await ask();
  } catch (error) {
    if (!(error instanceof StoreUnavailableError)) throw error;
    return { kind: 'in_doubt', error: error.cause };
  }
}
