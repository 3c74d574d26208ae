import { createElement } from 'react';
import { renderToStaticMarkup } from 'react-dom/server';
import { describe, expect, it, vi } from 'vitest';
import { ADVICE } from '../../core/codes.ts';
import type { IdempotentSubmit } from '../idempotent-submit.ts';
import { laterLabel, messages } from '../recovery/later-status.ts';
import { canStartOver } from '../recovery/machine.ts';
import { describeSubmit } from '../submit-status.tsx';
import { answered, type Ev, found, lost, record, reduce, refused, sent, submit, success } from './machine.fixture.ts';
import { initialState } from './machine.ts';
import { canCheck, fieldKey, isLocked, mayWriteRecord, type State, toRecordState } from './state.ts';

function reach(...events: Ev[]): State<string> {
  return events.reduce(reduce, initialState<string>('k1', null));
}

describe('submitting', () => {
  it('B2 B3 locks at once, swallows the second submit and persists before the answer', () => {
    const first = reach(...submit);
    expect(first).toMatchObject({ status: 'executing', attempt: 1, key: 'k1' });
    expect(isLocked(first)).toBe(true);
    expect(reduce(first, { type: 'submitted' })).toBe(first);
    expect(toRecordState(first)).toBe('executing');
  });

  it('B2 stays locked after success, and takes the next key only when a field is edited or the view is reset', () => {
    const done = reach(...submit, answered(success));
    expect(done).toMatchObject({ status: 'hasSucceeded', key: 'k1', recovered: false });
    expect(reduce(done, { type: 'submitted' })).toBe(done);
    expect(reduce(done, { type: 'edited' })).toMatchObject({ status: 'idle', key: 'k2', attempt: 0, result: null });
    expect(reduce(done, { type: 'reset' })).toMatchObject({ status: 'idle', key: 'k2' });
  });

  it('A6 stays with the key that it has sent where the answer is another key’s, and takes the next one behind it', () => {
    const ofFirst = { ...success, key: 'k0', replayed: true, nextKey: 'k2' };
    for (const events of [submit, lost]) {
      const done = reach(...events, answered(ofFirst));
      expect(done).toMatchObject({ status: 'hasSucceeded', key: 'k1', doubt: false, result: { key: 'k0' } });
      expect(toRecordState(done)).toBe('settled');
      expect(reduce(done, { type: 'edited' })).toMatchObject({ status: 'idle', key: 'k2', attempt: 0 });
    }
  });

  it('A6 ends where somebody else has done it, also after a doubt, and the key stays', () => {
    for (const events of [submit, lost]) {
      const told = reach(...events, answered(refused('already_done')));
      expect(told).toMatchObject({ status: 'hasErrored', key: 'k1', doubt: false });
      expect(isLocked(told)).toBe(false);
    }
  });

  it('keeps the key and unlocks after a failed validation', () => {
    const state = reach(...submit, answered(refused('validation')));
    expect(state).toMatchObject({ status: 'hasErrored', key: 'k1', doubt: false });
    expect(isLocked(state)).toBe(false);
    expect(reduce(state, { type: 'submitted' })).toMatchObject({ key: 'k1' });
  });

  it('takes the next key after a stored refusal or a tombstone, with the next gesture', () => {
    for (const code of ['failed', 'key_abandoned'] as const) {
      const state = reach(...submit, answered(refused(code)));
      expect(state).toMatchObject({ status: 'hasErrored', key: 'k1' });
      expect(reduce(state, { type: 'submitted' })).toMatchObject({ status: 'executing', key: 'k2', attempt: 0 });
    }
  });

  it('B4 replaces an expired key only if it was never sent before', () => {
    const expired = answered(refused('key_expired'));
    expect(reach(...submit, expired, { type: 'submitted' })).toMatchObject({ key: 'k2' });
    const second = reach(...submit, answered(refused('validation')), ...submit, expired);
    expect(second).toMatchObject({ status: 'hasErrored', key: 'k1' });
    expect(canStartOver(second)).toBe(true);
    expect(reduce(second, { type: 'submitted' })).toMatchObject({ key: 'k1' });
  });

  it('navigates, and asks when the redirect leads back: it may have been "sign in first", which did nothing', () => {
    const gone = reach(...submit, { type: 'navigated' });
    expect(gone).toMatchObject({ status: 'hasNavigated' });
    expect(isLocked(gone)).toBe(true);
    expect(toRecordState(gone)).toBe('executing');
    const back = reduce(gone, { type: 'issued', key: 'k9' });
    expect(back).toMatchObject({ status: 'checking', by: 'arrived', key: 'k1' });
    const there = reduce(back, found('succeeded', success));
    expect(there).toMatchObject({ status: 'hasSucceeded', recovered: false, result: null, nextKey: 'k2' });
    expect(reduce(back, found('absent'))).toMatchObject({ status: 'unknown', cause: 'absent', key: 'k1' });
  });

  it('does not take a redirect for the answer to an attempt that was lost', () => {
    expect(toRecordState(reach(...lost, ...submit, { type: 'navigated' }))).toBe('unknown');
  });

  it('waits while offline, and sends nothing that was edited since', () => {
    const offline = reach({ type: 'submitted' }, { type: 'wentOffline' });
    expect(offline).toMatchObject({ status: 'offline' });
    expect(isLocked(offline)).toBe(true);
    expect(reduce(offline, { type: 'edited' })).toMatchObject({ status: 'idle', key: 'k1' });
    expect(reduce(offline, sent(false))).toMatchObject({ status: 'executing', attempt: 1 });
  });
});

describe('without an answer', () => {
  it('is unknown, retries under the same key, and is unknown again when the budget is spent', () => {
    const waiting = reach(...submit, { type: 'lost', again: true });
    expect(waiting).toMatchObject({ status: 'unknown', isPending: true, doubt: true });
    expect(waiting.isPending).toBe(true);
    const retrying = reduce(waiting, sent(true));
    expect(retrying).toMatchObject({ status: 'retrying', key: 'k1', attempt: 2 });
    const spent = reduce(retrying, { type: 'lost', again: false });
    expect(spent).toMatchObject({ status: 'unknown', isPending: false });
    expect(isLocked(spent)).toBe(false);
    expect(canCheck(spent)).toBe(true);
  });

  it('is not in doubt after a server error that says nothing was executed', () => {
    expect(reach(...submit, answered(refused('internal'), true))).toMatchObject({ status: 'retrying', doubt: false });
    expect(reach(...submit, answered(refused('internal')))).toMatchObject({ status: 'hasErrored', key: 'k1' });
    const unsure = answered(refused('unavailable', { executed: 'unknown' }), true);
    expect(reach(...submit, unsure)).toMatchObject({ status: 'unknown', isPending: true });
  });

  const TURNED_AWAY = ['unavailable', 'internal', 'rate_limited', 'deferred'] as const;

  // Chromium sends a first attempt again by itself, so `executed: false` may be untrue of what is said to be the first.
  it.each(TURNED_AWAY)(
    'keeps its key, on record, too, and says nothing untrue after %s of the first attempt',
    (code) => {
      const state = reach(...submit, answered(refused(code, { executed: false })));
      expect(state).toMatchObject({ status: 'hasErrored', key: 'k1' });
      expect(toRecordState(state)).toBe('unknown');
      expect(describeSubmit({ ...state, recovered: false }, messages)).toBe(ADVICE[code].message);
      for (const event of [
        { type: 'edited' },
        { type: 'reset' },
        { type: 'issued', key: 'k9' },
        { type: 'submitted' },
      ]) {
        expect(reduce(state, event as Ev), event.type).toMatchObject({ key: 'k1', attempt: 1 });
      }
      const mismatch = answered(refused('payload_mismatch', { executed: true }));
      expect([...submit, mismatch].reduce(reduce<string>, state)).toMatchObject({ status: 'checking', key: 'k1' });
      expect([...submit, answered(success)].reduce(reduce<string>, state)).toMatchObject({ status: 'hasSucceeded' });
    },
  );

  it('has no words that say that nothing was done', () => {
    const words = [...Object.values(messages), ...TURNED_AWAY.map((code) => ADVICE[code].message)];
    for (const sentence of words) expect(sentence).not.toMatch(/nothing|not (sent|done|executed|placed)|failed/i);
  });

  it('B5 stays unknown through every refusal of an attempt', () => {
    for (const code of ['validation', 'unauthorized', 'rate_limited', 'key_invalid', 'key_expired'] as const) {
      const state = reach(...lost, ...submit, answered(refused(code)));
      expect(state, code).toMatchObject({ status: 'unknown', doubt: true, key: 'k1' });
      expect(reduce(state, { type: 'submitted' }), code).toMatchObject({ key: 'k1', doubt: true });
    }
  });

  it('ends with a stored result, a stored refusal or a tombstone', () => {
    for (const outcome of [success, refused('failed'), refused('key_abandoned')]) {
      expect(reach(...lost, ...submit, answered(outcome))).toMatchObject({ doubt: false, nextKey: 'k2' });
    }
  });

  it('takes a late answer, but none after the end', () => {
    expect(reach(...lost, answered(success))).toMatchObject({ status: 'hasSucceeded' });
    const done = reach(...submit, answered(success));
    expect(reduce(done, { type: 'lost', again: true })).toBe(done);
  });
});

describe('checking', () => {
  it('polls while the first submission runs, then follows where it leads', () => {
    const polling = reach(...submit, answered(refused('in_flight')));
    expect(polling).toMatchObject({ status: 'checking', by: 'run' });
    const running = reduce(polling, found('in_progress'));
    expect(running).toMatchObject({ status: 'checking', isPending: true, by: 'run' });
    expect(reduce(running, found('in_progress'))).toBe(running);
    const answer = { state: 'succeeded', outcome: success } as const;
    const here = reduce(polling, { type: 'found', answer, again: false });
    expect(here).toMatchObject({ status: 'hasSucceeded', recovered: true });
    const there = reduce(polling, { type: 'found', answer: { ...answer, redirect: '/orders/1' }, again: false });
    expect(there).toMatchObject({ status: 'hasNavigated', redirect: '/orders/1' });
  });

  const UNSETTLED = { status: 'unknown', isPending: false, cause: 'unsettled', key: 'k1' };

  it('says at once that the server does not know, and asks on: never that nothing is known of a key that is there', () => {
    const told = reach(...submit, answered(refused('outcome_unknown')), found('unknown'));
    expect(told).toMatchObject({ ...UNSETTLED, by: 'run' });
    expect([canCheck(told), canStartOver(told)]).toEqual([true, false]);
    expect(reduce(told, found('unknown'))).toBe(told);
    expect(reduce(told, { type: 'unanswered' })).toMatchObject({ ...UNSETTLED, by: undefined });
    const asked = reduce(told, { type: 'asked', by: 'person' });
    expect(asked).toMatchObject({ status: 'checking', cause: 'unsettled' });
    expect(reduce(asked, { type: 'unanswered' })).toMatchObject(UNSETTLED);
    expect(reduce(asked, found('absent'))).toMatchObject({ status: 'unknown', cause: 'absent' });
    const again = reduce(told, { type: 'found', answer: { state: 'succeeded', outcome: success }, again: true });
    expect(again).toMatchObject({ status: 'retrying', isPending: true });
    expect(reduce(told, found('failed', refused('failed')))).toMatchObject({ status: 'hasErrored', nextKey: 'k2' });
  });

  it('leaves who has come back, or asks, without a button for no longer than one more answer', () => {
    const back: Ev[] = [{ type: 'shown', record: { ...record('unknown'), key: 'k1' } }, found('in_progress')];
    expect(reach(...back)).toMatchObject({ status: 'checking', cause: 'unsettled' });
    expect(reach(...back, { type: 'unanswered' })).toMatchObject(UNSETTLED);
    expect(reach(...back, found('in_progress'))).toMatchObject({ ...UNSETTLED, by: 'shown' });
    expect(reach(...lost, { type: 'asked', by: 'fence' }, found('unknown'))).toMatchObject({
      ...UNSETTLED,
      by: 'sent',
    });
  });

  it('has "Check again" send the form where no script runs: nothing else would ask', async () => {
    vi.resetModules(); // the part that comes later is there once any file has loaded it
    const { SubmitStatus } = await import('../submit-status.tsx');
    const submit = { ...reach(...lost), canCheck: true } as unknown as IdempotentSubmit<string>;
    const button = /<button[^>]*>/.exec(renderToStaticMarkup(createElement(SubmitStatus<string>, { submit })));
    expect(button?.[0]).toContain('data-action="check"');
    expect(button?.[0]).not.toContain('type=');
  });

  it('says of a mismatch in doubt that there were other values', () => {
    const state = reach(
      ...submit,
      answered(refused('payload_mismatch', { message: 'Other values.' })),
      found('unknown'),
    );
    expect(state).toMatchObject(UNSETTLED);
    expect(laterLabel(state)).toBe('checking'); // which has the refusal's words
    expect(laterLabel({ ...state, result: null })).toBe('unsettled');
  });

  it('sends again by itself only if the submit that waits has budget left', () => {
    const polling = reach(...submit, answered(refused('in_flight')));
    const absent = { type: 'found', answer: { state: 'absent' } } as const;
    expect(reduce(polling, { ...absent, again: true })).toMatchObject({ status: 'unknown', isPending: true });
    expect(reduce(polling, { ...absent, again: false })).toMatchObject({ isPending: false, cause: 'absent' });
  });

  it('shows the first result after a mismatch, and offers to start over', () => {
    const state = reach(...submit, answered(refused('payload_mismatch')), found('succeeded', success));
    expect(state).toMatchObject({ status: 'hasSucceeded', recovered: true, key: 'k1' });
    expect(canStartOver(state)).toBe(true);
  });

  it('is unknown when nobody answers', () => {
    const asked = reach(...lost, { type: 'asked', by: 'person' });
    expect(canCheck(asked)).toBe(true);
    expect(reduce(asked, { type: 'unanswered' })).toMatchObject({ status: 'unknown', isPending: false });
  });

  it('B4 fences before it changes the key of an edited form', () => {
    const edited = reach(...lost, { type: 'edited' });
    expect(edited).toMatchObject({ status: 'checking', by: 'edit', key: 'k1' });
    const fencing = reduce(edited, found('absent'));
    expect(fencing).toMatchObject({ status: 'checking', by: 'replace', key: 'k1' });
    const fenced = reduce(fencing, { type: 'found', answer: { state: 'abandoned', nextKey: 'k3' }, again: false });
    expect(fenced).toMatchObject({ status: 'idle', key: 'k3', attempt: 0, doubt: false });
    expect(reduce(edited, found('succeeded', success))).toMatchObject({ status: 'hasSucceeded', recovered: true });
  });

  it('keeps the news of an earlier success while a person types on, until they start over', () => {
    const news = reach(...lost, { type: 'edited' }, found('succeeded', success));
    expect(reduce(news, { type: 'edited' })).toBe(news);
    expect(canStartOver(news)).toBe(true);
    expect(reduce(news, { type: 'asked', by: 'fence' })).toMatchObject({ status: 'idle', key: 'k2' });
  });

  it('stops its retries for a person who enters other values, and asks first', () => {
    const waiting = reach(...submit, { type: 'lost', again: true });
    expect(reduce(waiting, { type: 'edited' })).toMatchObject({ status: 'checking', by: 'edit', key: 'k1' });
    const refusedNow = reach(...submit, answered(refused('rate_limited'), true));
    expect(reduce(refusedNow, { type: 'edited' })).toMatchObject({ status: 'checking', by: 'edit', key: 'k1' });
    const offline = reduce(waiting, { type: 'wentOffline' });
    expect(reduce(offline, { type: 'edited' })).toMatchObject({ status: 'checking', by: 'edit', key: 'k1' });
    const asking = reduce(reach(...submit, answered(refused('in_flight'))), { type: 'edited' });
    expect(asking).toMatchObject({ status: 'checking', by: 'edit', key: 'k1' });
    // The submit that began to ask would have sent once more for the cookies. Not what was edited.
    const answer = { state: 'succeeded', outcome: success } as const;
    expect(reduce(asking, { type: 'found', answer, again: true })).toMatchObject({ status: 'hasSucceeded' });
  });

  it('leaves a key that is too old to be fenced only to a person who starts over', () => {
    const expired = {
      type: 'found',
      answer: { state: 'expired', nextKey: 'k3', message: 'Too old.' },
      again: false,
    } as const;
    const edited = reach(...lost, { type: 'edited' }, found('absent'));
    expect(reduce(edited, expired)).toMatchObject({ status: 'unknown', key: 'k1', isPending: false });
    const startedOver = reach(...lost, { type: 'asked', by: 'fence' });
    // First they are told why, then it gives way.
    const told = reduce(startedOver, expired);
    expect(told).toMatchObject({ status: 'unknown', key: 'k1', notice: 'Too old.' });
    const again = reduce(told, { type: 'asked', by: 'fence' });
    expect(reduce(again, expired)).toMatchObject({ status: 'idle', key: 'k3' });
  });
});

describe('coming back', () => {
  it('B5 asks about an open submit under its own key, and never sends it again', () => {
    for (const state of ['executing', 'unknown'] as const) {
      const back = reach({ type: 'shown', record: record(state) });
      expect(back).toMatchObject({ status: 'checking', by: 'shown', key: 'k0', doubt: true });
      const lostTrack = reduce(back, found('absent'));
      expect(lostTrack).toMatchObject({ status: 'unknown', cause: 'absent', isPending: false, key: 'k0' });
      expect(reduce(lostTrack, { type: 'submitted' })).toMatchObject({ status: 'executing', key: 'k0' });
    }
  });

  it('ignores a settled record, but for the page that was cached with its key', () => {
    const settled = { type: 'shown', record: record('settled', 'k7') } as const;
    expect(reach(settled)).toMatchObject({ status: 'idle', key: 'k1' });
    expect(reduce(initialState<string>('k0', null), settled)).toMatchObject({ status: 'idle', key: 'k7' });
    const doubted = reduce(initialState<string>('k0', null), { type: 'shown', record: record('unknown') });
    const idle = reduce(reduce(doubted, { type: 'unanswered' }), { type: 'reset' });
    expect(idle).toMatchObject({ status: 'idle', key: 'k0', doubt: true });
    expect(reduce(idle, settled)).toMatchObject({ status: 'idle', key: 'k7', attempt: 0, doubt: false });
    const redirected = reduce(initialState<string>('k0', null), { type: 'shown', record: record('settled') });
    expect(redirected).toMatchObject({ status: 'checking', key: 'k0' });
  });

  it('asks again when the page was frozen while something was open', () => {
    const shown: Ev = { type: 'shown', record: null };
    expect(reach(...submit, shown)).toMatchObject({ status: 'checking', doubt: true });
    expect(reach(...submit, { type: 'navigated' }, shown)).toMatchObject({ status: 'checking' });
    expect(reach({ type: 'submitted' }, { type: 'wentOffline' }, shown)).toMatchObject({ status: 'idle' });
  });

  it('takes another key from the server only while its own was never sent', () => {
    const issued: Ev = { type: 'issued', key: 'k5' };
    expect(reach(issued)).toMatchObject({ key: 'k5' });
    for (const events of [submit, lost, [...submit, answered(refused('validation'))]]) {
      expect(reach(...events, issued)).toMatchObject({ key: 'k1' });
    }
  });

  it('puts the next key into the form with a final refusal, not with a success', () => {
    expect(fieldKey(initialState('k8', refused('failed')))).toBe('k2');
    expect(fieldKey(initialState('k8', refused('validation')))).toBe('k1');
    expect(fieldKey(initialState('k8', success))).toBe('k1');
  });

  it('renders the answer to a native post', () => {
    expect(initialState('k8', refused('validation'))).toMatchObject({ status: 'hasErrored', key: 'k1' });
    expect(initialState('k8', success)).toMatchObject({ status: 'hasSucceeded', key: 'k1' });
    expect(initialState('k8', refused('in_flight'))).toMatchObject({ status: 'checking', key: 'k1' });
    const expired = initialState('k8', refused('key_expired'));
    expect(reduce(expired, { type: 'submitted' })).toMatchObject({ key: 'k1' });
  });
});

describe('beside other tabs', () => {
  const told = (key: string): Ev => ({ type: 'otherTabSettled', key });

  it('shows what another tab has done, and sends nothing', () => {
    for (const events of [[], [...submit, answered(refused('validation'))]]) {
      const state = reach(...events, told('k0'));
      expect(state).toMatchObject({ status: 'checking', by: 'otherTab', key: 'k0' });
      expect(isLocked(state)).toBe(true);
      // It was a rumour: nothing has happened, and the form has its own key again.
      expect(reduce(state, found('absent'))).toMatchObject({ status: 'idle', key: 'k1', doubt: false });
      // Nobody answers: the person must not be led to a second one.
      const nobody = reduce(state, { type: 'lost', again: false });
      expect(reduce(nobody, { type: 'submitted' })).toMatchObject({ key: 'k0' });
      const shown = reduce(state, found('succeeded', { ...success, key: 'k0' }));
      expect(shown).toMatchObject({ status: 'hasSucceeded', recovered: true, key: 'k0' });
      expect(reduce(shown, { type: 'asked', by: 'fence' })).toMatchObject({ status: 'idle', key: 'k2' });
    }
  });

  it('asks anew about a key that it shares with another tab, and whose end it has not seen', () => {
    expect(reach(...lost, told('k1'))).toMatchObject({ status: 'checking', by: 'sent', key: 'k1', doubt: true });
    expect(reach(...submit, told('k1'))).toMatchObject({ status: 'executing' });
    expect(reach(...submit, answered(success), told('k1'))).toMatchObject({ status: 'hasSucceeded' });
  });

  it('sends nothing again by itself once another tab has ended the intent', () => {
    const waits = reach(...submit, answered(refused('rate_limited'), true));
    expect(waits).toMatchObject({ status: 'retrying', isPending: true });
    for (const events of [waits, reach(...submit, { type: 'lost', again: true })]) {
      expect(reduce(events, told('k0'))).toMatchObject({ status: 'checking', by: 'sent', key: 'k1' });
    }
  });

  it('goes on under the next key of its own after a refusal, should nothing have happened there', () => {
    const refusedForGood = [...submit, answered(refused('failed')), told('k0'), found('absent')];
    expect(reach(...refusedForGood)).toMatchObject({ status: 'idle', key: 'k2' });
  });

  it('sends nothing once it is back online', () => {
    const offline: Ev[] = [{ type: 'submitted' }, { type: 'wentOffline' }, told('k0')];
    expect(reach(...offline)).toMatchObject({ status: 'checking', by: 'otherTab', key: 'k0' });
    expect(reach(...offline, found('absent'))).toMatchObject({ status: 'idle', key: 'k1' });
    const again: Ev[] = [...submit, { type: 'lost', again: true }, { type: 'wentOffline' }, told('k0')];
    expect(reach(...again)).toMatchObject({ status: 'checking', by: 'sent', key: 'k1' });
  });

  it('keeps a key of its own under which something may happen', () => {
    const resetInDoubt: Ev[] = [...lost, { type: 'reset' }];
    for (const events of [submit, lost, resetInDoubt, [...submit, answered(success)]]) {
      expect(reach(...events, told('k0'))).toMatchObject({ key: 'k1' });
    }
  });

  it('sends under the key of a tab that was first, and never under that of a settled intent', () => {
    const first = reach({ type: 'submitted' }, sent(false, record('executing')));
    expect(first).toMatchObject({ status: 'executing', key: 'k0', attempt: 2, doubt: true });
    expect(reach({ type: 'submitted' }, sent(false, record('settled', 'k7')))).toMatchObject({ key: 'k1', attempt: 1 });
    // A key that was refused has no effect behind it, so it joins as well.
    const refusedOnce = reach(...submit, answered(refused('validation')), { type: 'submitted' });
    expect(reduce(refusedOnce, sent(false, record('executing')))).toMatchObject({ key: 'k0', attempt: 2, doubt: true });
    // A key of its own under which something may have happened is not given up for another.
    expect(reach(...lost, { type: 'submitted' }, sent(false, record('executing')))).toMatchObject({ key: 'k1' });
  });
});

describe('what storage holds', () => {
  const inFlight = reach(...submit);
  const refusedNow = reduce(inFlight, answered(refused('validation')));
  const mine = { ...record('executing'), key: 'k1' };

  it('goes with the key it belongs to, and never while another tab is in doubt about that key', () => {
    expect(toRecordState(refusedNow)).toBeNull();
    expect(mayWriteRecord(mine, inFlight, refusedNow)).toBe(true);
    expect(mayWriteRecord({ ...mine, state: 'unknown' }, inFlight, refusedNow)).toBe(false);
    expect(mayWriteRecord(record('executing'), inFlight, refusedNow)).toBe(false);
    expect(mayWriteRecord(null, inFlight, refusedNow)).toBe(false);
    const fenced = { ...refusedNow, key: 'k2' };
    expect(mayWriteRecord({ ...mine, state: 'unknown' }, inFlight, fenced)).toBe(true);
  });

  it('is not written over while another tab sends', () => {
    expect(mayWriteRecord(null, inFlight, inFlight)).toBe(true);
    expect(mayWriteRecord(mine, inFlight, reach(...lost))).toBe(true);
    // A tab that shares the key may be in doubt, however sure this one is.
    expect(mayWriteRecord({ ...mine, state: 'unknown' }, inFlight, inFlight)).toBe(false);
    expect(mayWriteRecord(record('settled'), inFlight, inFlight)).toBe(true);
    expect(mayWriteRecord(record('executing'), inFlight, inFlight)).toBe(false);
    // A key that has ended stays so for a tab that has heard of it, and cannot ask.
    const asking = reach({ type: 'otherTabSettled', key: 'k0' });
    expect(mayWriteRecord(record('settled'), asking, reduce(asking, { type: 'lost', again: false }))).toBe(false);
    // News of another tab that is not so leaves that tab's record alone.
    const heard = reach({ type: 'otherTabSettled', key: 'k0' });
    expect(mayWriteRecord(record('executing'), heard, reduce(heard, found('absent')))).toBe(false);
  });
});
