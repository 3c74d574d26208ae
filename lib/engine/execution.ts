import { callerAddress } from '../core/caller-address.ts';
import { formInput } from '../core/fields.ts';
import { type Fingerprint, isSameHash } from '../core/fingerprint.ts';
import { isSettled } from '../core/key-state.ts';
import { admission, listOf } from '../core/options.ts';
import { executedBy, proofOfCall, type Refusal, refuse } from '../core/outcome.ts';
import { formBeyondLimits } from '../core/payload-limits.ts';
import { type Awaitable, isPromised, proceed } from '../core/wait.ts';
import { type Call, checkInput, openCall, storeFor } from './call.ts';
import type { FlightResult, Run } from './call-result.ts';
import {
  answerByRow,
  answerFrom,
  answerOwn,
  keysOf,
  refusalFromError,
  refuseCall,
  refuseInFlight,
  refuseWithoutRow,
} from './conclusion.ts';
import { beforeDeadline, isLateCheck } from './deadline.ts';
import type { Admission, AtomicDefinition, Definition, ExecuteRequest } from './definition.ts';
import { confirmReplicated, needsReplication } from './durability.ts';
import type { Engine } from './engine.ts';
import { instrumentCall } from './instrumentation.ts';
import { isPassedOn } from './kept.ts';
import { executeInPhases } from './phases/phased-call.ts';
import { isOfOtherKey, thingOfInput } from './thing.ts';
import { type Claiming, executeAgain, executeInTransaction } from './transaction.ts';
import type { Flight } from './waiting.ts';

type Checked = Awaited<ReturnType<typeof checkInput>>;

/**
 * Runs an operation once per key: the checks in the order of O1, then start a flight or join one, then the outcome. What goes
 * wrong is in `outcome`, and what was thrown in `thrown`.
 *
 * @throws ConfigurationError only: for a kit that is set up wrongly
 */
export function executeCall<Tx, T>(
  engine: Engine<Tx>,
  definition: Definition<Tx>,
  request: ExecuteRequest,
): Promise<Run<T>> {
  const { name: operation } = definition.options;
  return instrumentCall({ config: engine.config, operation, request }, async () => {
    let call: Call<Tx> | Refusal | undefined;
    let run: Run<T>;
    try {
      const opened = openCall(engine, definition, request);
      call = isPromised(opened) ? await opened : opened;
      run = 'ok' in call ? { outcome: call } : await decide<Tx, T>(call);
    } catch (error) {
      const known =
        call && !('ok' in call) ? { proof: call.proof, keys: keysOf(call) } : { proof: proofOfCall(request) };
      run = refusalFromError<T>(error, { engine, operation, request, ...known, during: 'checks' });
    }
    const answers = call && !('ok' in call) && !call.hasClaimed ? (run.row ?? call.id) : undefined;
    return engine.tallies.count(operation, withValues(run, definition, request), answers);
  });
}

/** Gives the entered values back with every refusal of a form, so that no page loses them (B7). Not of one that is too large. */
function withValues<Tx, T>(run: Run<T>, { options }: Definition<Tx>, { payload }: ExecuteRequest): Run<T> {
  if (run.outcome.ok || !(payload instanceof FormData) || formBeyondLimits(payload)) return run;
  return { ...run, outcome: { ...run.outcome, values: enteredValues(payload, options.sensitive) } };
}

async function decide<Tx, T>(call: Call<Tx>): Promise<Run<T>> {
  const { engine, definition, request } = call;
  if (request.signal?.aborted) {
    return { outcome: refuse('unavailable', { executed: executedBy(call.proof), ...keysOf(call) }) };
  }
  const recent = engine.recentRows.find(call.id);
  const decided = recent && answerByRow<Tx, T>(recent, call);
  const known = isPromised(decided) ? await decided : decided;
  if (known && !mayRunAgain(known, call)) return known;

  const verdict = beforeDeadline(checkInput(call), call.deadline);
  const checked = isPromised(verdict) ? await verdict : verdict;
  const answered = (checked.ok && known) || (await joinOrStart<Tx, T>(call, checked));
  if (!checked.ok || definition.phases || !mayRunAgain(answered, call)) return answered;
  return await again<Tx, T>(call, definition, checked.value);
}

/** A row decides, whatever schema and limits say today: a deploy must not turn a retry into an error of its input (O2). */
function refuseInput<Tx, T>(call: Call<Tx>, { code, details }: Checked & { ok: false }): Promise<Run<T>> {
  return refuseWithoutRow(call, refuse(code, { executed: executedBy(call.proof), ...details, ...keysOf(call) }));
}

/**
 * Tells whether the stored answer cannot be read here, and the operation does no harm twice (R3). Not where it is another
 * key's, which holds the thing: this call's input may be another one, and is not to be executed.
 */
function mayRunAgain<Tx, T>({ outcome, row }: Run<T>, { definition: { options, phases }, id }: Call<Tx>): boolean {
  const isUnreadable = !outcome.ok && outcome.code === 'result_unreadable';
  return isUnreadable && !phases && options.naturallyIdempotent === true && !(row && isOfOtherKey(row, id));
}

/** Only for an operation that does no harm twice (R3): see `naturallyIdempotent`. */
async function again<Tx, T>(call: Call<Tx>, definition: AtomicDefinition<Tx>, input: unknown): Promise<Run<T>> {
  let ended = await executeAgain({ call, definition, input, waitMs: 0, thing: undefined });
  if (needsReplication(call)) ended = await confirmReplicated(call, ended);
  if ('row' in ended) call.engine.recentRows.remember(ended.row);
  const run = await answerOwn<Tx, T>(call, ended);
  if (run.outcome.ok) return run;
  // The first execution stands, whatever has become of this one.
  const executed = executedBy('answer');
  // Which is no news of the first one.
  const isRolledBack = ['result_too_large', 'not_kept', 'already_exists'].includes(run.outcome.code);
  const outcome = isRolledBack ? refuse('result_unreadable', { executed, ...keysOf(call) }) : run.outcome;
  return { ...run, outcome: { ...outcome, executed } };
}

/**
 * Joins the flight of this key in this process, without a connection (C2); where none is under way any more and there is no
 * answer, acts on the input with the patience that is left. That begins in the tick in which no flight was found, so that
 * of two calls only one starts one.
 */
async function joinOrStart<Tx, T>(call: Call<Tx>, input: Checked): Promise<Run<T>> {
  const patience = Math.min(performance.now() + call.waitMs, call.deadline);
  for (;;) {
    const waitMs = Math.max(0, patience - performance.now());
    const flight = call.engine.flights.find(call.id);
    if (!flight) return await (input.ok ? startFlight(call, input.value, waitMs) : refuseInput(call, input));
    const joined = await joinFlight<Tx, T>(call, flight, waitMs);
    if (joined) return joined;
  }
}

/**
 * The answer of the flight, or undefined where this call may do better by itself. Another payload waits like the same one: the
 * call that started the flight may be the one that is wrong, and only a row can tell.
 */
async function joinFlight<Tx, T>(call: Call<Tx>, flight: Flight, waitMs: number): Promise<Run<T> | undefined> {
  // Somebody else has sent the key, so whatever was said, this is not the first attempt.
  call.proof = 'none';
  const differs = !isSameHash(flight.startedBy.fingerprint.hash, call.fingerprint.hash);
  // With another payload there is no more to wait for once the flight's row is there.
  const ended = await flight.join(waitMs, { untilRow: differs });
  if (!ended) return flight.hasRow && differs ? refuseCall(call, 'payload_mismatch') : refuseInFlight(call);
  // The flight has left no row, for it was rolled back, or met the key that holds its thing. Another payload may fare otherwise.
  const isOfThing = ended.kind === 'thing_done' || ('row' in ended && isOfOtherKey(ended.row, call.id));
  if (differs && (ended.kind === 'rolled_back' || isOfThing)) return undefined;
  return mayDoBetter(call, flight, ended) ? undefined : await answerFrom<Tx, T>(call, ended);
}

/** Tells whether a call may do better than the flight that it joined: not where that flight's fate would be its own. */
function mayDoBetter<Tx>(call: Call<Tx>, { startedBy: first }: Flight, ended: FlightResult): boolean {
  // It waited for another process, as this call would: only a more patient one may do better.
  if (ended.kind === 'locked') return first.waitMs < call.waitMs;
  const hasMoreTime = first.deadline < call.deadline;
  if (ended.kind === 'rolled_back') return ended.why === 'error' ? !isPassedOn(ended.error) : hasMoreTime;
  // What it has finished stands, and a call that has more time goes on from there.
  if (ended.kind === 'suspended') return hasMoreTime || first.request.signal?.aborted === true;
  return ended.kind === 'in_doubt';
}

async function startFlight<Tx, T>(call: Call<Tx>, input: unknown, waitMs: number): Promise<Run<T>> {
  const { engine } = call;
  const flight = engine.flights.start(call.id, call);
  let ended: FlightResult;
  try {
    const thing = thingOfInput(call.definition.options, call.id, input);
    const found = mustCheckFirst(call) ? await findRowOrAdmit(call, input, thing) : undefined;
    ended = found ?? (await execute(call, flight, { input, thing, waitMs }));
    if (needsReplication(call)) ended = await confirmReplicated(call, ended);
  } catch (error) {
    flight.fail(error);
    throw error;
  }
  flight.end(ended);
  if ('row' in ended) engine.recentRows.remember(ended.row);
  const run = answerOwn<Tx, T>(call, ended);
  return isPromised(run) ? await run : run;
}

function execute<Tx>(call: Call<Tx>, flight: Flight, work: Claiming & { input: unknown }): Promise<FlightResult> {
  const { definition } = call;
  if (!definition.phases) return executeInTransaction({ call, definition, ...work });
  const claimed = (of: Fingerprint | null) => {
    call.proof = 'none'; // the row is there, and may be driven to its end without this call
    // Of another version or secret it may be the row of a call that joins, and not of this one.
    if (of && isSameHash(of.hash, call.fingerprint.hash)) flight.announceRow();
  };
  return executeInPhases(call, definition, { ...work, claimed });
}

/** Only where that may save a transaction: the client says that it retries, or a new key must be admitted first. */
function mustCheckFirst<Tx>({ definition, request }: Call<Tx>): boolean {
  return definition.options.admit !== undefined || (request.attempt ?? 1) > 1;
}

/**
 * Looks for a row before a transaction begins (O2, O3). The key's own comes first. Whoever has none is to be admitted before
 * they are told of another key that holds the thing. It decides nothing when it finds none: the claim does. Nor does it when it
 * finds one of phases that can go on.
 */
async function findRowOrAdmit<Tx>(
  call: Call<Tx>,
  input: unknown,
  thing: string | undefined,
): Promise<FlightResult | undefined> {
  const { definition, id } = call;
  const found = await storeFor(call).findObstacle({ ...id, thing });
  const row = found?.kind === 'existing' ? found.row : undefined;
  const refused = row && !isOfOtherKey(row, id) ? undefined : await admit(call, input);
  if (refused) return refused;
  return row && definition.phases && !isSettled(row.state) ? undefined : found;
}

/** Asks `admit`: returns the end of a call that it does not let in. */
async function admit<Tx>(call: Call<Tx>, input: unknown): Promise<FlightResult | undefined> {
  const { admit } = call.definition.options;
  if (!admit) return undefined;
  try {
    const asked = proceed(admissionOf(call, input), admit);
    const said = await beforeDeadline(asked, call.deadline);
    const says = admission(`admit of ${call.id.operation}`, said, 'unauthorized');
    return says === true ? undefined : { kind: 'not_admitted', says };
  } catch (error) {
    if (!isLateCheck(error)) throw error;
    // As an end, and not thrown: a call that joined with more time than the one that started is to ask for itself.
    return { kind: 'rolled_back', why: 'error', error, at: 'claim' };
  }
}

function admissionOf<Tx>({ id, who, request, engine }: Call<Tx>, input: unknown): Awaitable<Admission<never>> {
  const { addressHeader } = engine.config;
  const headers = addressHeader === undefined ? undefined : request.headers?.();
  return proceed(headers, (given) => ({
    scope: id,
    key: id.key,
    input: input as never,
    isAnonymous: who.isAnonymous ?? false,
    address: given && callerAddress(given, addressHeader),
  }));
}

/** Names whose values are never sent back into a page. */
const SECRET = /pass(word|phrase|code)|secret|token|cvc|cvv|card.?number|\bpin\b|\biban\b|\bssn\b/i;

/** Returns the entered values of a form, to fill it again after a refusal; without files and without secrets. */
export function enteredValues(
  payload: FormData,
  sensitive: string | readonly string[] = [],
): Record<string, string | string[]> {
  // An action can be called with anything, whatever its types say.
  if (!(payload instanceof FormData)) return {};
  const names = listOf(sensitive);
  const mayReturn = (name: string, value: FormDataEntryValue) =>
    typeof value === 'string' && !SECRET.test(name) && !names?.includes(name);
  return formInput(payload, mayReturn) as Record<string, string | string[]>;
}
