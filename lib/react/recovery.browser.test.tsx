import { Activity } from 'react';
import { describe, expect, test, vi } from 'vitest';
import { userEvent } from 'vitest/browser';
import { render } from 'vitest-browser-react';
import { expectCounted } from '../../scripts/testing/expect-counted.ts';
import { refuse } from '../testing/browser.ts';
import { handsOn, keysOf, newIntent, ONCE, OrderForm, open, shop } from './form.fixture.tsx';

/** A page goes away and comes back, and a key is issued anew (contract B5). */

describe('B5 a reload', () => {
  test('while executing: asks, waits, and says what became of it; nothing is sent again', async () => {
    const orders = shop();
    const held = orders.hold();
    const before = await open(orders);
    await before.place();
    await held.reached;
    await before.screen.unmount();
    const { is, says, field } = await open(orders, { intent: before.intent });
    await is('checking');
    await says('Checking whether it went through…');
    expect(field()).toBe(before.initialKey);
    held.release();
    await is('hasSucceeded');
    await says('This was already sent, and it went through. Order 1');
    expect([orders.attempts.length, orders.effects.length]).toEqual([1, 1]);
  });

  test('while it is still running: says not to send it again, has a button that asks, and hears of the end all the same', async () => {
    const orders = shop();
    const held = orders.hold();
    const before = await open(orders);
    await before.place();
    await held.reached;
    await before.screen.unmount();
    const { is, says, checkAgain, startOver } = await open(orders, { intent: before.intent });
    await says('It may have gone through. Please do not send it again: we are finding out. You can close this page.');
    await is('unknown');
    await expect.element(startOver).not.toBeInTheDocument(); // it could not be given up
    const asked = orders.questions.length;
    await userEvent.click(checkAgain);
    await expect.poll(() => orders.questions.length).toBeGreaterThan(asked);
    held.release();
    await is('hasSucceeded');
    await says('This was already sent, and it went through. Order 1');
    expect([orders.attempts.length, orders.effects.length]).toEqual([1, 1]);
  });

  test.each(['request', 'answer'] as const)('while unknown, the %s being lost', async (what) => {
    const orders = shop();
    if (what === 'request') orders.loseRequest();
    else orders.loseAnswer();
    const before = await open(orders, { policy: ONCE });
    await before.place();
    await before.is('unknown');
    await before.screen.unmount();
    const { is, says, place } = await open(orders, { intent: before.intent });
    if (what === 'answer') {
      await is('hasSucceeded');
      await says('This was already sent, and it went through. Order 1');
      expect(orders.attempts).toHaveLength(1);
      return;
    }
    await says('It has not reached us so far. Sending it again is safe.');
    await is('unknown');
    expect(orders.attempts).toHaveLength(1);
    await place();
    await is('hasSucceeded');
    expect(orders.attempts.map(({ key, attempt }) => [key, attempt])).toEqual([
      [before.initialKey, 1],
      [before.initialKey, 2],
    ]);
  });

  test('while retrying: the retries end with the page', async () => {
    const orders = shop();
    orders.loseRequest();
    const second = orders.hold('request');
    const before = await open(orders);
    await before.place();
    await second.reached;
    await before.screen.unmount();
    const { is } = await open(orders, { intent: before.intent });
    await is('unknown');
    second.lose();
    expect(orders.attempts).toHaveLength(2);
    expectCounted(orders.effects).toHaveLength(0);
  });

  test('and an edit then: the old key is given up', async () => {
    const orders = shop();
    orders.loseRequest();
    const before = await open(orders, { policy: ONCE });
    await before.place();
    await before.is('unknown');
    await before.screen.unmount();
    const { is, edit, place } = await open(orders, { intent: before.intent });
    await is('unknown');
    await edit('coffee');
    await is('idle');
    expect(orders.status(before.initialKey).state).toBe('abandoned');
    await place();
    await is('hasSucceeded');
    expect(orders.effects.map(({ data }) => data.note)).toEqual(['coffee']);
  });

  test('a stored refusal is found as well', async () => {
    const orders = shop({ run: () => refuse('failed', { executed: true, message: 'Declined.' }) });
    orders.loseAnswer();
    const before = await open(orders, { policy: ONCE });
    await before.place();
    await before.is('unknown');
    await before.screen.unmount();
    const { is, says } = await open(orders, { intent: before.intent });
    await is('hasErrored');
    await says('Declined.');
  });

  test('where nobody answers, it stays unknown and offers to ask again', async () => {
    const orders = shop();
    orders.loseAnswer();
    const before = await open(orders, { policy: ONCE });
    await before.place();
    await before.is('unknown');
    await before.screen.unmount();
    orders.down();
    const { is, checkAgain } = await open(orders, { intent: before.intent, policy: { pollMs: 0 } });
    await expect.element(checkAgain).toBeVisible();
    await is('unknown');
    orders.up();
    await userEvent.click(checkAgain);
    await is('hasSucceeded');
    expectCounted(orders.effects).toHaveLength(1);
  });

  test('after success, from a cache that still has the answered key: goes on under the next one', async () => {
    const orders = shop();
    const before = await open(orders);
    await before.place();
    await before.is('hasSucceeded');
    await before.screen.unmount();
    const { is, place, field } = await open(orders, { intent: before.intent, initialKey: before.initialKey });
    await is('idle');
    await expect.poll(field).not.toBe(before.initialKey);
    await place();
    await is('hasSucceeded');
    expectCounted(orders.effects).toHaveLength(2);
  });

  test('after a redirect that led back here: asks, says that it went through, and has the next key', async () => {
    const orders = shop({
      run() {
        throw Object.assign(new Error(), { digest: 'NEXT_REDIRECT;push;/orders/1;307;' });
      },
    });
    const { place, is, says, rerender, screen, edit } = await open(orders);
    await place();
    await is('hasNavigated');
    await rerender({ initialKey: orders.issueKey() });
    await is('hasSucceeded');
    await says('It went through.');
    expect(screen.getByRole('link').elements()).toEqual([]); // the router was there
    expect(orders.attempts).toHaveLength(1);
    await edit('honey');
    await place();
    await is('hasNavigated');
    expect(new Set(keysOf(orders)).size).toBe(2);
  });
});

describe('B5 a page that was out of sight', () => {
  test('from the back/forward cache, while executing: what was under way is asked about', async () => {
    const orders = shop();
    const lost = orders.hold('answer');
    const { place, is } = await open(orders);
    await place();
    await lost.reached;
    window.dispatchEvent(new PageTransitionEvent('pageshow', { persisted: true }));
    await is('hasSucceeded');
    lost.lose();
    expect(orders.questions.length).toBeGreaterThan(0);
    expect(orders.attempts).toHaveLength(1);
  });

  test('a pageshow that restores nothing changes nothing', async () => {
    const orders = shop();
    const held = orders.hold('answer');
    const { place, is } = await open(orders);
    await place();
    await held.reached;
    window.dispatchEvent(new PageTransitionEvent('pageshow', { persisted: false }));
    held.release();
    await is('hasSucceeded');
    expect(orders.questions).toEqual([]);
  });

  test("hidden by React's <Activity> while executing, and shown again", async () => {
    const orders = shop();
    const held = orders.hold();
    const props = { orders, intent: newIntent(), initialKey: orders.issueKey() };
    const page = (mode: 'visible' | 'hidden') => (
      <Activity mode={mode}>
        <OrderForm {...props} />
      </Activity>
    );
    const screen = await render(page('visible'));
    const { place, is, edit, note } = handsOn(screen);
    await edit('milk');
    await place();
    await held.reached;
    await screen.rerender(page('hidden'));
    await screen.rerender(page('visible'));
    await is('checking');
    await expect.element(note).toHaveValue('milk');
    held.lose();
    await is('hasSucceeded');
    expect([orders.attempts.length, orders.effects.length]).toEqual([1, 1]);
  });

  test.each(['milk', 'tea'])('hidden behind its redirect, and shown again by a link: sends %s once', async (note) => {
    const orders = shop({
      run() {
        throw Object.assign(new Error(), { digest: 'NEXT_REDIRECT;push;/orders/1;307;' });
      },
    });
    const props = { orders, intent: newIntent(), initialKey: orders.issueKey() };
    const page = (mode: 'visible' | 'hidden', initialKey = props.initialKey) => (
      <Activity mode={mode}>
        <OrderForm {...props} initialKey={initialKey} />
      </Activity>
    );
    const screen = await render(page('visible'));
    const { place, is, note: field } = handsOn(screen);
    await place();
    await is('hasNavigated');
    await screen.rerender(page('hidden'));
    history.pushState({}, '');
    const settledAt = Date.now();
    await expect.poll(() => Date.now()).toBeGreaterThan(settledAt);
    const { fetch } = globalThis;
    let answer = () => {};
    const answered = new Promise<void>((resolve) => (answer = resolve));
    vi.stubGlobal('fetch', async (...asked: Parameters<typeof fetch>) => {
      await answered;
      return await fetch(...asked);
    });
    await screen.rerender(page('visible', orders.issueKey()));
    await is('checking');
    await userEvent.fill(field, note);
    await place();
    answer();
    await expect.poll(() => orders.attempts.length).toBe(2);
    vi.unstubAllGlobals();
    expect(orders.effects.map(({ form }) => form.get('note'))).toEqual(['tea', note]);
  });

  test('a modal that is closed while it sends, and opened again', async () => {
    const orders = shop();
    const held = orders.hold();
    const props = { orders, intent: newIntent(), initialKey: orders.issueKey() };
    const page = (isOpen: boolean) => <main>{isOpen && <OrderForm {...props} />}</main>;
    const screen = await render(page(true));
    const { place, is, says } = handsOn(screen);
    await place();
    await held.reached;
    await screen.rerender(page(false));
    held.release();
    await expect.poll(() => orders.effects.length).toBe(1);
    await screen.rerender(page(true));
    await is('hasSucceeded');
    await says('This was already sent, and it went through. Order 1');
    expect(orders.attempts).toHaveLength(1);
  });
});

describe('a new key from the server, such as after signing in', () => {
  test('replaces one that was never sent', async () => {
    const orders = shop();
    const { place, is, rerender, initialKey } = await open(orders);
    const issued = orders.issueKey();
    await rerender({ initialKey: issued });
    await place();
    await is('hasSucceeded');
    expect(initialKey).not.toBe(issued);
    expect(keysOf(orders)).toEqual([issued]);
  });

  test('leaves one whose fate is unknown', async () => {
    const orders = shop();
    orders.loseAnswer();
    const { place, is, field, rerender, initialKey } = await open(orders, { policy: ONCE });
    await place();
    await is('unknown');
    await rerender({ initialKey: orders.issueKey() });
    expect(field()).toBe(initialKey);
    await is('unknown');
    await place();
    await is('hasSucceeded');
    expectCounted(orders.effects).toHaveLength(1);
  });
});
