import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import type { Outcome } from '../core/outcome.ts';
import { answered, type Ev, isCalledOff, record, refused, success } from './machine.testsuite.ts';
import { initialState, reduce } from './machine.ts';
import { defaultMessages, wordsFor } from './messages.ts';
import { isFence, isOurs, isSettled, recordedAs } from './state.ts';
import type { KeyRecord } from './storage.ts';
import { OF_THE_VIEW } from './submission.ts';

describe('against a world of keys', () => {
  /** What the server knows of a key, and how many requests for it are still on their way. */
  interface Fate {
    state: 'none' | 'succeeded' | 'failed' | 'abandoned';
    inTheAir: number;
    /** Whatever still arrives is refused. */
    expired?: boolean;
    /** The browser has been told the final state. */
    told: boolean;
  }

  const step = fc.constantFrom(
    ...(['submit', 'send', 'arrive', 'answer', 'reject', 'busy', 'transient', 'lose', 'ask', 'look', 'fence'] as const),
    ...(['edit', 'reset', 'hide', 'reload', 'offline', 'issue', 'navigate', 'otherTab', 'timeout', 'give up'] as const),
  );

  it('never leaves a key under which an effect exists or may come, unless the person was told', () => {
    fc.assert(
      fc.property(fc.array(fc.tuple(step, fc.boolean()), { maxLength: 40, size: 'max' }), (steps) => {
        const fates = new Map<string, Fate>();
        let minted = 1;
        const open = (key: string) => ({
          state: initialState<string>(key, null),
          /** The key of the attempt that this tab waits for, one at a time. */
          out: null as string | null,
          /** It has waited for too long: the attempt's end counts, but is not followed by another attempt. */
          isLate: false,
          /** The person has entered other values, and has not submitted since. */
          isEdited: false,
        });
        let tab = open('k1');
        let hidden = open('k0'); // the tab that nobody looks at
        let stored: KeyRecord | null = null; // shared by the tabs
        let news: string[] = [];
        const fateOf = (key: string): Fate => {
          const fate = fates.get(key) ?? { state: 'none', inTheAir: 0, told: false };
          fates.set(key, fate);
          return fate;
        };
        const mayBeLeft = (key: string): boolean => {
          const { state: fate, inTheAir, told, expired } = fateOf(key);
          return fate === 'abandoned' || told || (fate === 'none' && (expired || inTheAir === 0));
        };
        const apply = (event: Ev) => {
          const before = tab.state;
          const state = reduce(before, event);
          tab.state = state;
          if (!OF_THE_VIEW.includes(event.type)) {
            const as = recordedAs(state);
            if (isOurs(stored, before, state)) stored = as && { ...record(as, state.nextKey), key: state.key };
            const isGivenUp = event.type === 'found' && before.key !== state.key;
            const hasEnded = isGivenUp || state.status === 'hasNavigated' || (isSettled(state) && !isSettled(before));
            if (hasEnded && before.by !== 'told') news.push(before.key);
          }
          if (before.key === state.key) return;
          const { state: fate, inTheAir } = fateOf(before.key);
          expect(mayBeLeft(before.key), `${event.type} left ${before.key}: ${fate}, ${inTheAir} in the air`).toBe(true);
        };
        const final = (key: string): Outcome<string> | null => {
          const { state: fate } = fateOf(key);
          const nextKey = `k${++minted}`;
          if (fate === 'none') return null;
          if (fate === 'succeeded') return { ...success, key, nextKey };
          return refused(fate === 'failed' ? 'failed' : 'key_abandoned', { key, nextKey });
        };
        const tell = (make: (outcome: Outcome<string>) => Ev) => {
          const { key, status } = tab.state;
          const outcome = final(key);
          if (!outcome || !['executing', 'retrying', 'unknown', 'checking'].includes(status)) return;
          fateOf(key).told = true;
          apply(make(outcome));
        };
        /** The attempt ends. The driver drops what comes of a key that was given up meanwhile. */
        const end = (make: () => void) => {
          const isNews = tab.out === tab.state.key;
          tab.out = null;
          if (isNews) make();
        };
        for (const [name, flag] of steps) {
          const { key, status } = tab.state;
          const fate = fateOf(key);
          const nextKey = `k${++minted}`;
          const again = flag && !tab.isLate;
          switch (name) {
            case 'submit': {
              apply({ type: 'submitted' });
              // An earlier run has ended with it, not what it has sent.
              if (tab.state.status === 'executing' && status !== 'executing')
                tab = { ...tab, out: null, isEdited: false };
              break;
            }
            case 'send': {
              if (tab.out || !tab.state.isPending) break;
              apply({ type: 'sent', again: flag, record: stored });
              if (tab.state.by) break;
              expect(tab.isEdited, 'sent again what was edited').toBe(false);
              tab = { ...tab, out: tab.state.key, isLate: false };
              fateOf(tab.state.key).inTheAir++;
              break;
            }
            case 'arrive':
              for (const each of fates.values()) {
                if (each.inTheAir > 0 && each.state === 'none' && !each.expired)
                  each.state = flag ? 'succeeded' : 'failed';
                each.inTheAir = 0;
              }
              break;
            case 'timeout':
              if (tab.out !== key) break;
              tab.isLate = true;
              apply({ type: 'asked', by: 'run' });
              break;
            case 'answer':
              if (tab.out && fateOf(tab.out).state !== 'none') end(() => tell((outcome) => answered(outcome, again)));
              break;
            case 'reject': // the answer to this attempt; an earlier one may still be in the air
              if (!tab.out || fateOf(tab.out).state !== 'none') break;
              fateOf(tab.out).inTheAir--;
              fateOf(tab.out).expired ||= flag;
              end(() => apply(answered(refused(flag ? 'key_expired' : 'validation', { key, nextKey }))));
              break;
            case 'busy': // an earlier attempt runs
              if (tab.out) end(() => apply(answered(refused('in_flight', { executed: 'unknown' }), again)));
              break;
            case 'transient':
              if (tab.out && fateOf(tab.out).state === 'none')
                end(() => apply(answered(refused('unavailable', { executed: 'unknown', nextKey }), again)));
              break;
            case 'lose':
              if (tab.out) end(() => tab.isLate || apply({ type: 'lost', again }));
              break;
            case 'give up': // nobody answers a check
              if (status === 'checking') apply({ type: 'lost', again: false });
              break;
            case 'ask':
              if (status === 'unknown') apply({ type: 'asked', by: 'person' });
              break;
            case 'look': {
              if (status !== 'checking') break;
              const resend = tab.state.by === 'run' && again;
              const say = (what: 'absent' | 'succeeded' | 'failed', outcome?: Outcome<string>): Ev => ({
                ...{ type: 'found', answer: { state: what, outcome }, again: resend },
              });
              if (fate.state === 'none') apply(say('absent'));
              else tell((outcome) => say(fate.state === 'succeeded' ? 'succeeded' : 'failed', outcome));
              break;
            }
            case 'fence':
              if (flag) apply({ type: 'asked', by: 'fence' });
              if (tab.state.status !== 'checking' || !isFence(tab.state.by)) break;
              if (fate.state === 'none') fate.state = 'abandoned';
              if (fate.state === 'abandoned')
                apply({ type: 'found', answer: { state: 'abandoned', nextKey }, again: false });
              break;
            case 'edit':
              tab.isEdited ||= isCalledOff(tab.state);
              apply({ type: 'edited' });
              break;
            case 'reset':
              apply({ type: 'reset' });
              break;
            case 'hide':
              tab.out = null;
              apply({ type: 'shown', record: stored });
              break;
            case 'reload': {
              tab = open(nextKey);
              tab.state = reduce(tab.state, { type: 'shown', record: stored });
              expect(tab.state.key === key || mayBeLeft(key), `reload left ${key}: ${fate.state}`).toBe(true);
              break;
            }
            case 'otherTab':
              [tab, hidden] = [hidden, tab];
              if (flag) for (const key of news) apply({ type: 'told', key });
              if (flag) news = [];
              break;
            case 'offline':
              if (!tab.out && tab.state.isPending && status !== 'checking') apply({ type: 'wentOffline' });
              break;
            case 'issue':
              apply({ type: 'issued', key: nextKey });
              break;
            case 'navigate':
              if (!tab.out || fateOf(tab.out).state !== 'succeeded') break;
              fateOf(tab.out).told = true;
              end(() => apply({ type: 'navigated' }));
              break;
          }
          expect(wordsFor(tab.state, defaultMessages) !== '').toBe(tab.state.status !== 'idle');
        }
      }),
      { numRuns: 3000 },
    );
  });
});
