import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { tier } from '../../../scripts/testing/tier.ts';
import type { Outcome } from '../../core/outcome.ts';
import { messages } from '../recovery/later-status.ts';
import { RECOVERY_HANDLERS } from '../recovery/machine.ts';
import { describeSubmit } from '../submit-status.tsx';
import { type Ev, isCalledOff, record, refused, success } from './machine.fixture.ts';
import { initialState, isViewEvent, reduce } from './machine.ts';
import type { KeyAnswer } from './state.ts';
import { hasFinalAnswer, isFence, mayWriteRecord, type State, toRecordState } from './state.ts';
import type { KeyRecord } from './storage.ts';

type Final = 'succeeded' | 'failed' | 'abandoned';

/** The server's knowledge of a key. */
interface Fate {
  state: 'none' | Final;
  /** The values that it was done for. */
  values: number;
  /** Attempts that still arrive are refused. */
  expired: boolean;
  /** Some page has been told the final state. */
  told: boolean;
  /** How many keys were made before its end. */
  endedAt?: number;
}

/** An attempt, from the moment it is sent until its answer is read or lost. */
interface Attempt {
  key: string;
  values: number;
  /** The page that reads the answer; null once it is gone. */
  tab: Tab | null;
  /** The submit waits for it. What comes later counts all the same. */
  isAwaited: boolean;
  /** Set when it has arrived: `navigated` is a redirect. */
  answer?: Outcome<string> | 'navigated';
}

/** A question about a key, from the moment it is asked until its answer is read or lost. */
interface Question {
  key: string;
  tab: Tab | null;
  method: 'GET' | 'DELETE';
  again: boolean;
  answer?: KeyAnswer<string>;
}

interface Tab {
  state: State<string>;
  /** Its page's key, and how many were made with it. */
  own: string;
  madeAt: number;
  /** A person has loaded the page again, or gone back to it. */
  isReturn: boolean;
  /** The values as they are entered now, and as they were submitted last. */
  values: number;
  submitted: number;
  /** Other values have been entered since the submit, in a state in which that calls it off. */
  isCalledOff: boolean;
  /** The ends of keys that answers to this page have told it, whatever it made of them. */
  told: Map<string, Final>;
  /** Keys whose end this page has seen. What others say of them is no news. */
  done: Set<string>;
}

const step = fc.record({
  what: fc.constantFrom(
    ...(['submit', 'submit', 'send', 'send', 'arrive', 'arrive', 'answer', 'answer', 'lose', 'timeout'] as const),
    ...(['ask', 'ask', 'look', 'look', 'tell', 'tell', 'drop', 'give up', 'edit', 'edit', 'person asks'] as const),
    ...(['start over', 'reset', 'hide', 'reload', 'offline', 'issue', 'other tab', 'news', 'load', 'stay'] as const),
  ),
  flag: fc.boolean(),
  /** Which of those that are on their way: answers overtake each other. */
  which: fc.nat(3),
  how: fc.constantFrom(
    ...([
      'done',
      'done',
      'redirected',
      'failed',
      'validation',
      'expired',
      'unavailable',
      'internal',
      'in_flight',
    ] as const),
  ),
});

/** Two tabs with the form, the server, and everything between them. */
class World {
  /** `isLoaded`: the part that comes while the page is idle is there. */
  constructor(private isLoaded: boolean) {}

  private readonly fates = new Map<string, Fate>();
  private attempts: Attempt[] = [];
  private questions: Question[] = [];
  private minted = 0;
  private stored: KeyRecord | null = null; // shared by the tabs
  private news: string[] = [];
  tab = this.open();
  private hidden = this.open(); // the tab that nobody looks at

  /** One thing happens; where it cannot, nothing does. */
  step({ what, flag, which, how }: typeof step extends fc.Arbitrary<infer S> ? S : never): void {
    const { tab } = this;
    const mine = this.attempts.filter((each) => each.tab === tab);
    const awaited = mine.find((each) => each.isAwaited);
    const pick = <T>(all: T[]): T | undefined => all[which % all.length];
    switch (what) {
      case 'submit': {
        const { status } = tab.state;
        this.apply({ type: 'submitted' });
        if (tab.state.status !== 'executing' || status === 'executing') break;
        // An earlier run has ended with it, not what it has sent.
        for (const each of mine) each.isAwaited = false;
        [tab.submitted, tab.isCalledOff] = [tab.values, false];
        break;
      }
      case 'send':
        if (awaited || !tab.state.isPending || tab.state.by) break;
        this.apply({ type: 'sent', again: flag, record: this.stored });
        if (tab.state.by) break;
        expect(tab.isCalledOff, 'sent again what was edited').toBe(false);
        this.attempts.push({ key: tab.state.key, values: tab.submitted, tab, isAwaited: true });
        break;
      case 'arrive': {
        const attempt = pick(this.attempts.filter(({ answer }) => !answer));
        if (attempt) attempt.answer = this.receive(attempt, how);
        break;
      }
      case 'answer': {
        const attempt = pick(mine.filter(({ answer }) => answer));
        if (!attempt?.answer) break;
        this.end(attempt);
        if (attempt.answer !== 'navigated') this.note(attempt.key, attempt.answer);
        // The driver drops what comes of a key that was given up meanwhile.
        if (attempt.key !== tab.state.key) break;
        if (attempt.answer === 'navigated') {
          this.of(attempt.key).told = true;
          this.apply({ type: 'navigated' });
          break;
        }
        this.apply({
          type: 'answered',
          outcome: attempt.answer,
          again: flag && attempt.isAwaited,
          ...lateness(attempt),
        });
        break;
      }
      case 'lose': {
        const attempt = pick(mine);
        if (!attempt) break;
        // The request is lost, or, where it may still arrive, the connection alone.
        if (flag) this.end(attempt);
        else attempt.tab = null;
        if (attempt.isAwaited && attempt.key === tab.state.key) this.apply({ type: 'lost', again: which > 1 });
        attempt.isAwaited = false;
        break;
      }
      case 'timeout':
        if (!awaited) break;
        awaited.isAwaited = false;
        if (awaited.key === tab.state.key) this.apply({ type: 'asked', by: 'run' });
        break;
      case 'ask':
        this.ask(flag);
        break;
      case 'look': {
        const question = pick(this.questions.filter(({ answer }) => !answer));
        if (question) question.answer = this.look(question);
        break;
      }
      case 'tell': {
        const question = pick(this.questions.filter((each) => each.tab === tab && each.answer));
        if (!question?.answer) break;
        this.questions = this.questions.filter((each) => each !== question);
        const { answer } = question;
        if (answer.outcome) this.note(question.key, answer.outcome);
        else if (answer.state === 'abandoned') tab.told.set(question.key, 'abandoned');
        const visitKey = this.keyOfVisit(question.key);
        if (question.key === tab.state.key) this.apply({ type: 'found', answer, again: question.again, visitKey });
        break;
      }
      case 'drop': {
        const question = pick(this.questions);
        if (question) question.tab = null; // a fence may still arrive
        break;
      }
      case 'give up': // nobody answers a check
        if (!tab.state.by) break;
        for (const each of this.questions) if (each.tab === tab) each.tab = null;
        this.apply({ type: 'unanswered' });
        break;
      case 'edit': {
        const before = tab.state;
        tab.values++;
        tab.isCalledOff ||= isCalledOff(before);
        this.apply({ type: 'edited' });
        const isOut =
          before.status === 'executing' && mine.some(({ isAwaited, key }) => isAwaited && key === before.key);
        if (isOut && this.isLoaded) expect(tab.state.status, 'an edit while the attempt is out asks').toBe('checking');
        break;
      }
      case 'person asks':
        this.apply({ type: 'asked', by: 'person' });
        break;
      case 'start over':
        this.apply({ type: 'asked', by: 'fence' });
        break;
      case 'reset':
        this.apply({ type: 'reset' });
        break;
      case 'hide': // into the back/forward cache and back
        this.leave(tab);
        this.apply({ type: 'shown', record: this.stored });
        break;
      case 'reload': {
        this.leave(tab);
        this.tab = this.open(flag);
        this.tab.state = this.next({ type: 'shown', record: this.stored });
        if (this.tab.state.key !== tab.state.key) this.expectFree(tab.state.key, 'the reload');
        break;
      }
      case 'offline':
        if (this.isLoaded && !awaited && tab.state.isPending && !tab.state.by) this.apply({ type: 'wentOffline' });
        break;
      case 'issue':
        this.apply({ type: 'issued', key: this.mint() });
        break;
      case 'stay': // the router has gone, and the form is still there
        this.apply({ type: 'arrived' });
        break;
      case 'other tab':
        [this.tab, this.hidden] = [this.hidden, this.tab];
        break;
      case 'load':
        this.load();
        break;
      case 'news':
        for (const key of this.news.splice(0)) if (!tab.done.has(key)) this.apply({ type: 'otherTabSettled', key });
        break;
    }
    this.expectTruth();
  }

  /** Everything arrives, and every question is answered. */
  rest(): void {
    this.load();
    const easy = { flag: false, which: 0, how: 'done' } as const;
    for (let round = 0; round < 2; round++) {
      for (let n = this.attempts.length; n > 0; n--) this.step({ ...easy, what: 'arrive' });
      for (let n = this.attempts.length; n > 0; n--) this.step({ ...easy, what: 'answer' });
      for (let n = 0; n < 20 && (this.tab.state.isPending || this.questions.length); n++) {
        for (const what of ['look', 'tell', 'ask', 'send', 'arrive', 'answer'] as const) this.step({ ...easy, what });
      }
      expect(this.tab.state.isPending, `stays ${this.tab.state.status} by ${this.tab.state.by}`).toBe(false);
      this.step({ ...easy, what: 'other tab' });
    }
  }

  private open(isReturn = true): Tab {
    const own = this.mint();
    const more = { own, madeAt: this.minted, isReturn, told: new Map(), done: new Set<string>() };
    return { state: initialState<string>(own, null), values: 0, submitted: 0, isCalledOff: false, ...more };
  }

  /** As the driver does it: for a page that was made after the end, and whose person was not left in doubt. */
  private keyOfVisit(key: string): string | undefined {
    const { own, madeAt, isReturn, state } = this.tab;
    const isLater = madeAt > (this.of(key).endedAt ?? madeAt);
    const isAsked = state.by === 'shown' && this.stored?.key === key && this.stored.state === 'executing';
    return isLater && isAsked && !isReturn ? own : undefined;
  }

  private mint(): string {
    return `k${++this.minted}`;
  }

  private of(key: string): Fate {
    const fate = this.fates.get(key) ?? { state: 'none', values: 0, expired: false, told: false };
    this.fates.set(key, fate);
    return fate;
  }

  /** As the driver does it. */
  private apply(event: Ev): void {
    const { tab } = this;
    const before = tab.state;
    const state = this.next(event);
    tab.state = state;
    if (hasFinalAnswer(state)) this.of(state.key).told = true;
    if (state !== before && !isViewEvent(event.type)) {
      const as = toRecordState(state);
      if (mayWriteRecord(this.stored, before, state))
        this.stored = as && { ...record(as, state.nextKey), key: state.key };
      const isGivenUp = event.type === 'found' && before.key !== state.key;
      const hasEnded =
        isGivenUp || state.status === 'hasNavigated' || (hasFinalAnswer(state) && !hasFinalAnswer(before));
      if (hasEnded) tab.done.add(before.key);
      if (hasEnded && before.by !== 'otherTab' && before.by !== 'arrived') this.news.push(before.key);
    }
    const isVisit = event.type === 'found' && event.visitKey;
    if (before.key !== state.key && before.by !== 'otherTab' && !isVisit) this.expectFree(before.key, event.type);
  }

  /** An event that needs the recovery, which does not come, is left to the person. */
  private next(event: Ev): State<string> {
    const { state } = this.tab;
    const next = reduce(state, event, this.isLoaded ? RECOVERY_HANDLERS : undefined);
    return next ?? (reduce(state, { type: 'lost', again: false }) as State<string>);
  }

  /** It comes after all, and asks for the forms that are in doubt. */
  private load(): void {
    if (this.isLoaded) return;
    this.isLoaded = true;
    for (let n = 0; n < 2; n++) {
      const { status, isPending } = this.tab.state;
      if (status === 'unknown' && !isPending) this.apply({ type: 'shown', record: null });
      [this.tab, this.hidden] = [this.hidden, this.tab];
    }
  }

  private ask(again: boolean): void {
    const { tab } = this;
    if (!this.isLoaded) return;
    const { by, key } = tab.state;
    const method = isFence(by) ? 'DELETE' : 'GET';
    if (!by || this.questions.some((each) => each.tab === tab && each.key === key && each.method === method)) return;
    this.questions.push({ key, tab, method, again: again && by === 'run' });
  }

  /** The server's answer to an attempt. */
  private receive(attempt: Attempt, how: string): Outcome<string> | 'navigated' {
    const { key, values } = attempt;
    const fate = this.of(key);
    const more = { key, nextKey: this.mint() };
    if (fate.state === 'abandoned') return this.outcomeOf(key);
    if (fate.state !== 'none') {
      return fate.values === values
        ? this.outcomeOf(key)
        : refused('payload_mismatch', { ...more, executed: 'unknown' });
    }
    fate.expired ||= how === 'expired';
    if (fate.expired) return refused('key_expired', more);
    if (how === 'validation') return refused('validation', more);
    if (how === 'internal') return refused('internal', more);
    if (how === 'unavailable') return refused('unavailable', { ...more, executed: 'unknown' });
    const isRival = (each: Attempt) => each !== attempt && each.key === key && !each.answer;
    if (how === 'in_flight' && this.attempts.some(isRival))
      return refused('in_flight', { ...more, executed: 'unknown' });
    Object.assign(fate, { state: how === 'failed' ? 'failed' : 'succeeded', values, endedAt: this.minted });
    return how === 'redirected' ? 'navigated' : this.outcomeOf(key);
  }

  /** The status route's answer. */
  private look({ key, method }: Question): KeyAnswer<string> {
    const fate = this.of(key);
    if (method === 'DELETE' && fate.state === 'none') {
      if (fate.expired) return { state: 'expired', message: 'too old', nextKey: this.mint() };
      Object.assign(fate, { state: 'abandoned', endedAt: this.minted });
    }
    if (fate.state === 'none') return { state: 'absent' };
    if (method === 'DELETE' && fate.state === 'abandoned') return { state: 'abandoned', nextKey: this.mint() };
    return { state: fate.state, outcome: this.outcomeOf(key), nextKey: this.mint() };
  }

  private outcomeOf(key: string): Outcome<string> {
    const { state } = this.of(key);
    const more = { key, nextKey: this.mint() };
    return state === 'succeeded'
      ? { ...success, ...more }
      : refused(state === 'failed' ? 'failed' : 'key_abandoned', more);
  }

  private note(key: string, outcome: Outcome<string>): void {
    if (outcome.ok) this.tab.told.set(key, 'succeeded');
    else if (outcome.code === 'failed') this.tab.told.set(key, 'failed');
    else if (outcome.code === 'key_abandoned') this.tab.told.set(key, 'abandoned');
  }

  private end(attempt: Attempt): void {
    this.attempts = this.attempts.filter((each) => each !== attempt);
  }

  /** The page's own part of all that is under way ends. */
  private leave(tab: Tab): void {
    for (const each of [...this.attempts, ...this.questions]) if (each.tab === tab) each.tab = null;
  }

  /** A key is left only when no effect exists under it or may come, unless a person was told. */
  private expectFree(key: string, why: string): void {
    const { state, told, expired } = this.of(key);
    const inTheAir = this.attempts.filter((each) => each.key === key && !each.answer).length;
    const isFree = state === 'abandoned' || told || (state === 'none' && (expired || inTheAir === 0));
    expect(isFree, `${why} left ${key}: ${state}, ${inTheAir} in the air`).toBe(true);
  }

  /** Whenever nothing is on its way, the form shows what the server has last told it, or asks. */
  private expectTruth(): void {
    const { state, told } = this.tab;
    const { key, status, isPending, nextKey } = state;
    expect(describeSubmit(state, messages) !== '').toBe(status !== 'idle');
    const isOnItsWay = [...this.attempts, ...this.questions].some((each) => each.tab === this.tab && each.key === key);
    if (isPending || isOnItsWay || !this.isLoaded) return;
    const last = told.get(key);
    const where = `${key}: ${last}, and the form is ${status}`;
    if (last === 'succeeded') expect(['hasSucceeded', 'hasNavigated'], where).toContain(status);
    if (last === 'failed')
      expect([status, hasFinalAnswer(state) || status === 'hasNavigated'], where).toEqual([status, true]);
    // It will never run, so the next gesture needs another one.
    if (last === 'abandoned') expect(Boolean(nextKey) || status === 'hasNavigated', where).toBe(true);
  }
}

const lateness = ({ isAwaited }: Attempt) => (isAwaited ? {} : { isLate: true });

describe('against a world of keys, with edits at any time and answers that overtake each other', () => {
  it('A10 leaves no key that may have an effect, and shows what it was told last, or asks', () => {
    fc.assert(
      fc.property(fc.boolean(), fc.array(step, { maxLength: 40, size: 'max' }), (isLoaded, steps) => {
        const world = new World(isLoaded);
        for (const each of steps) world.step(each);
        world.rest();
      }),
      { numRuns: Number(process.env.MODEL_RUNS ?? (tier === 'short' ? 1000 : 3000)) },
    );
  }, 600_000);
});
