import { CodedError } from '../../core/errors.ts';
import type { KeyState } from '../../core/key-state.ts';
import type { KeyId } from '../../core/scope.ts';
import { seal } from '../../core/seal.ts';
import { settleWithin } from '../../core/wait.ts';
import type { EnteredLost, LostKey, LostKeys } from '../../store/lost-keys.ts';
import { StoreUnavailableError } from '../../store/store.ts';
import { encodeAnswer, withAddress } from '../answer.ts';
import { type Call, checkInput, openCall } from '../call.ts';
import type { AtomicDefinition } from '../definition.ts';
import type { Engine } from '../engine.ts';
import { isOfOtherKey, retentionOf, thingOfInput } from '../thing.ts';
import { asBegun, claimOf, executeInTransaction } from '../transaction.ts';
import { completeKey } from './completer.ts';
import { encodeInput } from './stored-input.ts';
import { Trial, tryOperation } from './trial.ts';

/** A key that the database may have lost, as somebody outside of it knows it. */
export interface NamedKey extends KeyId {
  /** The client's: plain data, or a `FormData` where it was a form. None: nobody knows. */
  payload?: unknown;
  /** Comes beside the payload and counts in the fingerprint: a route's path, the arguments bound to an action. */
  context?: readonly unknown[] | undefined;
  /** The operation's result, on a person's word. */
  result?: { data: unknown } | undefined;
}

/** A named key, as the database has it, or the outside. */
export type NamedKeyState =
  /** Nothing was asked outside: the database knows the key, or somebody executes it at this moment. */
  | { kind: 'known'; state: KeyState }
  | { kind: 'running' }
  /** There is no such operation, or the line is no call of it. `why`: a code or a few words. */
  | { kind: 'refused'; why: string }
  | LostKeyState;

/** No row. `enter` is there where the outside knows something, or a person does. */
interface LostKeyState {
  kind: 'lost';
  /** In the order of the operation; the last one may be other than found, and what is behind it is not known. */
  calls: Readonly<Trial['calls']>;
  /** The events among those it announces that were received before. */
  receivedEvents: readonly string[];
  /** Why the operation went no further, where no call was in its way: a refusal's code, or the name of an error. */
  stoppedBy?: string | undefined;
  /** Enters what is known, under the name of a person. Of several at once, and beside a retry, one has an effect. */
  enter?: (actor: string) => Promise<EnteredKey>;
}

type EnteredKey =
  /** `state`: what came of it; undefined where a completer has to go on with it. */
  | { kind: 'entered'; state: KeyState | undefined }
  /** A row has come meanwhile. */
  | { kind: 'existing' }
  | { kind: 'running' }
  /** Nothing was entered. */
  | { kind: 'failed'; why: string };

/** How long one trial may take, with all its look-ups, in milliseconds: it holds what its phases lock. */
const TRIAL_MS = 30_000;
/** How long whoever enters a key waits for its end; it goes on without them. */
const PATIENCE_MS = 30_000;

/** Ends the transaction of a trial: nothing of it stays. */
class TrialRollback extends Error {}

/** The call of a named key, as it reaches the engine today, and what enters it. */
interface NamedCall<Tx> {
  call: Call<Tx>;
  lostKeys: LostKeys<Tx>;
}

/**
 * `Idempotency.lookUpLost`.
 *
 * @throws StoreUnavailableError where the database cannot be asked
 */
export async function lookUpLost<Tx>(
  engine: Engine<Tx>,
  lostKeys: LostKeys<Tx>,
  named: NamedKey,
  isReceived: (eventId: string) => boolean,
): Promise<NamedKeyState> {
  const definition = engine.definitions.get(named.operation);
  if (!definition) return { kind: 'refused', why: 'no such operation' };
  const { tenant, principal, key, payload = null, context, result } = named;
  const scope = { tenant, principal };
  // The call that the client has made; its time is that of the trial.
  const call = await openCall(engine, definition, { key, scope, payload, context, deadlineMs: TRIAL_MS });
  if ('ok' in call) return { kind: 'refused', why: call.code };
  const probed = await engine.store.probe(call.id);
  if (probed.kind === 'existing') return { kind: 'known', state: probed.row.state };
  if (probed.kind === 'locked') return { kind: 'running' };
  const here: NamedCall<Tx> = { call, lostKeys };
  if (named.payload === undefined) {
    return { kind: 'lost', calls: [], receivedEvents: [], ...(result ? { enter: enterByHand(here, result) } : {}) };
  }
  const checked = await checkInput(call);
  if (!checked.ok) return { kind: 'refused', why: checked.code };
  const input = checked.value;
  return await runTrial(here, { input, isReceived, byHand: result && enterByHand(here, result, { input }) });
}

interface TrialInput {
  input: unknown;
  isReceived: (eventId: string) => boolean;
  byHand: LostKeyState['enter'];
}

async function runTrial<Tx>(here: NamedCall<Tx>, { input, isReceived, byHand }: TrialInput): Promise<NamedKeyState> {
  const { call, lostKeys } = here;
  const { engine, definition } = call;
  const trial = new Trial();
  let announced: string[] = [];
  let options: ReturnType<typeof asBegun>;
  try {
    options = asBegun(engine, { ...definition.options, timeoutMs: TRIAL_MS, durability: 'local' }, call);
  } catch (error) {
    return { kind: 'lost', calls: [], receivedEvents: [], stoppedBy: (error as Error).name }; // and others are looked up
  }
  const executed = await engine.store.execute(
    // It was claimed in its time: it carries none, so that no window refuses it.
    claimOf({ ...call, mintedAt: null }, engine.config.retentionMs, { waitMs: 0, thing: undefined }),
    async (tx) => {
      await tryOperation(trial, call, { input, tx });
      announced = await lostKeys.announcedIn(tx).catch(() => []); // the handler may have broken its transaction
      throw new TrialRollback();
    },
    { ...options, beforeCommit: () => {} },
  );
  if (executed.kind === 'existing') return { kind: 'known', state: executed.row.state };
  if (executed.kind === 'locked') return { kind: 'running' };
  trial.close();
  const { calls, ended } = trial;
  const error = 'error' in executed ? (executed.error as Error) : undefined;
  // Broken off: what it had not asked yet would be sent as if for the first time.
  if (!(error instanceof TrialRollback)) return { kind: 'lost', calls, receivedEvents: [], stoppedBy: error?.name };
  const receivedEvents = announced.filter(isReceived);
  const isKnown = receivedEvents.length > 0 || calls.some(({ answer }) => answer === 'found' || answer === 'pending');
  // A person's word counts where nobody can be asked, and not against a provider's.
  const isDenied = calls.some(({ answer }) => answer === 'absent');
  const enter = isKnown ? enterTried(here, input, trial, receivedEvents) : isDenied ? undefined : byHand;
  return { kind: 'lost', calls, receivedEvents, stoppedBy: ended?.why, ...(enter ? { enter } : {}) };
}

/** Enters what the trial has found. Operations in phases go on behind it; others run under their key, once. */
function enterTried<Tx>({ call, lostKeys }: NamedCall<Tx>, input: unknown, trial: Trial, events: readonly string[]) {
  const { engine, definition, id } = call;
  const answers = trial.calls.map(({ name, answer }) => `${name}: ${answer}`);
  const by = [...answers, ...events.map((event) => `event ${event}`)].join(', ');
  const detail = { by: by.slice(0, 1000) };
  return async (actor: string): Promise<EnteredKey> => {
    if (!definition.phases) {
      const record = (tx: Tx) => lostKeys.recordIn(tx, { ...id, type: 'reconciled', actor, detail });
      return await executeLost(call, definition, input, record);
    }
    const text = encodeInput({ input, context: call.request.context ?? [] }, definition.options);
    const is = { input: seal(text, 'input', id, engine.config.secrets), steps: trial.steps };
    const entered = await lostKeys.enterLost(lostKeyOf(call, is, { input }), { actor, detail });
    if (entered !== 'entered') return REFUSED_ENTRIES[entered];
    // From here on it is durable: whoever comes goes on behind what was found.
    return { kind: 'entered', state: await waitPatiently(completeKey(engine, id)) };
  };
}

/** In one transaction with the record of who has said so. Its events have the ids that they had. */
async function executeLost<Tx>(
  call: Call<Tx>,
  definition: AtomicDefinition<Tx>,
  input: unknown,
  record: (tx: Tx) => Promise<void>,
): Promise<EnteredKey> {
  const handler: typeof definition.handler = async (context) => {
    await record(context.tx);
    return await definition.handler(context);
  };
  const executed = await executeInTransaction({
    call: { ...call, mintedAt: null, deadline: performance.now() + PATIENCE_MS },
    definition: { ...definition, handler },
    input,
    waitMs: 0,
    thing: thingOfInput(definition.options, call.id, input),
  });
  switch (executed.kind) {
    case 'committed':
      // The effect stands, whatever they come to.
      await waitPatiently(Promise.allSettled((executed.afterCommit ?? []).map(async (after) => after())));
      return { kind: 'entered', state: executed.row.state };
    case 'existing':
      return REFUSED_ENTRIES[isOfOtherKey(executed.row, call.id) ? 'held' : 'existing'];
    case 'thing_done':
      return REFUSED_ENTRIES.held;
    case 'locked':
      return REFUSED_ENTRIES.locked;
    case 'in_doubt':
      throw new StoreUnavailableError('The database did not say whether it was entered.', { cause: executed.error });
    default:
      return { kind: 'failed', why: 'error' in executed ? (executed.error as Error).name : executed.kind };
  }
}

/** Enters the answer that a person knows, and nothing else: no effect is made good by it. */
function enterByHand<Tx>(
  { call, lostKeys }: NamedCall<Tx>,
  { data }: { data: unknown },
  sent?: { input: unknown },
): LostKeyState['enter'] {
  return async (actor) => {
    let lost: LostKey;
    try {
      const answer = withAddress({ kind: 'data', data }, call.definition.redirectTo, call);
      lost = lostKeyOf(call, { result: encodeAnswer(answer) }, sent);
    } catch (error) {
      return { kind: 'failed', why: error instanceof CodedError ? error.code : (error as Error).name };
    }
    const entered = await lostKeys.enterLost(lost, { actor, detail: { by: 'hand' } });
    return entered === 'entered' ? { kind: 'entered', state: 'succeeded' } : REFUSED_ENTRIES[entered];
  };
}

/** @param sent the validated input, where the payload is known. Without it the key holds no thing, and any payload is its own. */
function lostKeyOf<Tx>(
  { engine, definition, id, fingerprint }: Call<Tx>,
  is: LostKey['is'],
  sent: { input: unknown } | undefined,
): LostKey {
  const { options, phases } = definition;
  const { retentionMs, phasesRetentionMs } = engine.config;
  return {
    ...id,
    fingerprint: sent ? fingerprint : null,
    schemaVersion: options.schemaVersion ?? 1,
    retentionMs: retentionOf(options, phases ? phasesRetentionMs : retentionMs),
    thing: sent && thingOfInput(options, id, sent.input),
    holdsForever: options.holdFor === 'forever',
    is,
  };
}

function waitPatiently<T>(promise: Promise<T>): Promise<T | undefined> {
  return settleWithin(promise, PATIENCE_MS, () => undefined, { keepsAlive: false });
}

const REFUSED_ENTRIES: Record<Exclude<EnteredLost, 'entered'>, EnteredKey> = {
  existing: { kind: 'existing' },
  locked: { kind: 'running' },
  held: { kind: 'failed', why: 'another key holds its thing' },
};
