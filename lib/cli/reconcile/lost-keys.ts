import { printable } from '../../core/printable.ts';
import type { NamedKey, NamedKeyState } from '../../engine/phases/lost-key.ts';
import { counted, table, when } from '../table.ts';
import type { ConsumerEvent } from './inbox.ts';

type LostState = Extract<NamedKeyState, { kind: 'lost' }>;
type EnteredKey = Awaited<ReturnType<NonNullable<LostState['enter']>>>;

/** A named key with what there is of it, and what became of it. */
interface Reconciled {
  named: NamedKey;
  state: NamedKeyState;
  entered?: EnteredKey;
}

/** How often a long list says how far it is, in milliseconds. */
const PROGRESS_MS = 5000;

/** Looks keys up one after the other, for each locks what its operation locks. */
export async function lookUpAll(
  named: readonly NamedKey[],
  lookUp: (named: NamedKey) => Promise<Reconciled['state']>,
  tell: (line: string) => void,
): Promise<Reconciled[]> {
  const keys: Reconciled[] = [];
  let toldAt = performance.now();
  for (const each of named) {
    keys.push({ named: each, state: await lookUp(each) });
    if (performance.now() - toldAt < PROGRESS_MS) continue;
    toldAt = performance.now();
    tell(`Looked up ${keys.length} of ${named.length} …`);
  }
  return keys;
}

/** Enters what the outside knows, of each key for which `ask` agrees. */
export async function enterAll(
  keys: readonly Reconciled[],
  actor: string,
  { ask, tell }: { ask: (question: string) => Promise<boolean>; tell: (line: string) => void },
): Promise<void> {
  for (const each of keys) {
    const { named, state } = each;
    if (state.kind !== 'lost' || !state.enter) continue;
    const question = `Enter ${named.key} of ${named.operation} (${describeOutside(state)})? [y/N] `;
    if (!(await ask(printable(question)))) continue;
    each.entered = await state.enter(actor);
    tell(printable(`${named.key}: ${describeEntry(each.entered)}`));
  }
}

/** How many events without their key are listed; the rest is counted. */
const SHOWN_EVENTS = 50;

/** The list, without anything that was sent or answered. */
export function listing(keys: readonly Reconciled[], orphans: readonly ConsumerEvent[]): string {
  const head = ['KEY', 'OPERATION', 'PRINCIPAL', 'DATABASE', 'OUTSIDE'];
  const parts = keys.length > 0 ? [table([head, ...keys.map(cellsOf)])] : [];
  if (orphans.length > 0) {
    const shown = orphans.slice(0, SHOWN_EVENTS).map(({ id, source, receivedAt }) => [id, source, when(receivedAt)]);
    const more = orphans.length - shown.length;
    parts.push(
      'Received by a consumer, and unknown here and to the keys above:',
      table([['EVENT', 'SOURCE', 'RECEIVED'], ...shown]) + (more > 0 ? `\nand ${counted(more, 'event')} more` : ''),
    );
  }
  return parts.join('\n');
}

function cellsOf({ named: { key, operation, principal }, state }: Reconciled): string[] {
  return [key, operation, principal, inDatabase(state), describeOutside(state)];
}

function inDatabase(state: NamedKeyState): string {
  if (state.kind === 'running') return 'executing now';
  if (state.kind === 'refused') return `not looked up: ${state.why}`;
  if (state.kind === 'lost') return 'lost';
  return state.state === 'in_progress' ? 'in progress: the completer goes on' : state.state;
}

/** Says in a few words what the outside knows of a lost key. */
function describeOutside(state: NamedKeyState): string {
  if (state.kind !== 'lost') return '';
  const { calls, receivedEvents, stoppedBy } = state;
  const said = calls.map(({ name, answer }) => `${name}: ${answer === 'unasked' ? 'cannot be asked' : answer}`);
  if (receivedEvents.length > 0) said.push(`${counted(receivedEvents.length, 'event')} received`);
  if (stoppedBy !== undefined) said.push(`then ${stoppedBy}`);
  if (said.length === 0) said.push('nothing');
  return said.join(', ') + (isByHand(state) ? '; a result by hand' : '');
}

const isByHand = ({ enter, calls, receivedEvents }: LostState) =>
  enter !== undefined && receivedEvents.length === 0 && calls.every(({ answer }) => answer === 'unasked');

/** Says what is left to do about a key, for a person; undefined where nothing is. */
export function leftOf({ named, state, entered }: Reconciled): string | undefined {
  if (state.kind === 'known') return undefined;
  if (state.kind === 'running') return 'somebody executes it at this moment: look again';
  if (state.kind === 'refused') return `it is no call of the app: ${state.why}`;
  if (state.enter) return leftOfEntry(entered);
  if (state.calls.some(({ answer }) => answer === 'absent')) return undefined; // nobody knows it: a retry may execute it
  if (named.payload === undefined) return 'nobody can be asked without its payload: add it to the line, or a "result"';
  if (state.calls.length === 0 && state.stoppedBy === undefined) return undefined;
  return 'nobody can be asked: find out, and add a "result" to the line';
}

function leftOfEntry(entered: EnteredKey | undefined): string | undefined {
  if (!entered) return 'not entered';
  if (entered.kind === 'failed') return `not entered: ${entered.why}`;
  return entered.kind === 'running' ? 'not entered: somebody executes it at this moment' : undefined;
}

/** Says what was entered, or came meanwhile. */
function describeEntry(entered: EnteredKey): string | undefined {
  if (entered.kind === 'existing') return 'not entered: a row has come meanwhile';
  if (entered.kind !== 'entered') return leftOfEntry(entered);
  const { state } = entered;
  if (state === 'unknown') return 'entered: unknown, asked about by the completer, or a person must say';
  return `entered: ${state === undefined || state === 'in_progress' ? 'the completer goes on' : state}`;
}

/** Returns the same for a script. */
export function figures(keys: readonly Reconciled[], orphans: readonly ConsumerEvent[]) {
  return {
    keys: keys.map((each) => {
      const { named, state, entered } = each;
      const { operation, tenant, principal, key } = named;
      const lost = state.kind === 'lost' ? { canEnter: state.enter !== undefined } : {};
      const { enter, ...found } = state as NamedKeyState & { enter?: unknown };
      const left = leftOf(each);
      return { operation, tenant, principal, key, ...found, ...lost, entered, left };
    }),
    orphans,
  };
}
