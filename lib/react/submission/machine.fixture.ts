import type { Code } from '../../core/codes.ts';
import { type Outcome, type Refusal, refuse } from '../../core/outcome.ts';
import { RECOVERY_HANDLERS } from '../recovery/machine.ts';
import { type Event, reduce as reduceAny } from './machine.ts';
import { isOpen, type KeyAnswer, type State } from './state.ts';
import type { KeyRecord } from './storage.ts';

/** The machine's tests share these: its events, in few words. */

export type Ev = Event<string>;

/** With the part that comes later. */
export function reduce<R = string>(state: State<R>, event: Event<R>): State<R> {
  return reduceAny(state, event, RECOVERY_HANDLERS) as State<R>;
}

export const success: Outcome<string> = { ok: true, data: 'order 1', replayed: false, key: 'k1', nextKey: 'k2' };
export const refused = (code: Code, more: Partial<Refusal> = {}): Refusal =>
  refuse(code, { executed: false, key: 'k1', nextKey: 'k2', ...more });
export const answered = (outcome: Outcome<string>, again = false): Ev => ({ type: 'answered', outcome, again });
export const found = (state: KeyAnswer<string>['state'], outcome?: Outcome<string>): Ev => ({
  type: 'found',
  answer: { state, outcome },
  again: false,
});
export const sent = (again: boolean, record: KeyRecord | null = null): Ev => ({ type: 'sent', again, record });
export const submit: Ev[] = [{ type: 'submitted' }, sent(false)];
export const lost: Ev[] = [...submit, { type: 'lost', again: false }];
export const record = (state: KeyRecord['state'], nextKey?: string): KeyRecord => ({
  ...({ version: 1, key: 'k0', intent: 'checkout:1', submittedAt: 0 } as const),
  state,
  ...(nextKey ? { nextKey } : {}),
});

/** True where other values, entered in this state, end what is under way. A submit that has only just begun goes on. */
export function isCalledOff(state: State<string>): boolean {
  return isOpen(state) && state.by !== 'otherTab';
}
