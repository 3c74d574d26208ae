import { Component, type ReactNode } from 'react';
import { describe, expect, onTestFinished, test, vi } from 'vitest';
import { userEvent } from 'vitest/browser';
import { render } from 'vitest-browser-react';
import { expectCounted } from '../../scripts/testing/expect-counted.ts';
import { refuse } from '../testing/browser.ts';
import { handsOn, IMPATIENT, keysOf, newIntent, OrderForm, open, sendElsewhere, shop } from './form.fixture.tsx';

/** One submit and how it goes on by itself: contract B2, B4 and the first rows of B5. */

class NotFoundBoundary extends Component<{ children: ReactNode }, { digest?: string }> {
  override state: { digest?: string } = {};
  static getDerivedStateFromError = ({ digest }: { digest: string }) => ({ digest });
  override render() {
    return this.state.digest ?? this.props.children;
  }
}

describe('a submit', () => {
  test('goes from idle through executing to success, and the key stays until the next gesture', async () => {
    const orders = shop();
    const held = orders.hold('answer');
    const { place, is, says, field, initialKey, states } = await open(orders);
    await is('idle');
    await expect.poll(field).toBe(initialKey);
    await place();
    await is('executing');
    await says('Sending…');
    held.release();
    await is('hasSucceeded');
    await says('It went through. Order 1');
    expect(states()).toEqual(['idle', 'executing', 'hasSucceeded']);
    expect(field()).toBe(initialKey);
    expectCounted(orders.effects).toMatchObject([{ key: initialKey, data: { note: 'tea' } }]);
  });

  test('B2 is swallowed synchronously while one is under way: click, click, Enter in one task', async () => {
    const orders = shop();
    const held = orders.hold();
    const { button, note, is } = await open(orders);
    const pressed = button('Place order').element() as HTMLButtonElement;
    pressed.click();
    pressed.click();
    pressed.form?.requestSubmit();
    await is('executing');
    await userEvent.dblClick(pressed);
    await userEvent.type(note, '{Enter}');
    held.release();
    await is('hasSucceeded');
    expect(orders.attempts).toHaveLength(1);
  });

  test('B2 is swallowed after success, until an edit brings the next intent under the next key', async () => {
    const orders = shop();
    const { place, edit, is, field, initialKey } = await open(orders);
    await place();
    await is('hasSucceeded');
    await place();
    expect(orders.attempts).toHaveLength(1);
    await edit('coffee');
    await is('idle');
    expect(field()).not.toBe(initialKey);
    await place();
    await is('hasSucceeded');
    expect(orders.effects.map(({ data }) => data.note)).toEqual(['tea', 'coffee']);
    expect(new Set(keysOf(orders)).size).toBe(2);
  });

  test('`reset` after success frees the form under the next key; while pending it does nothing', async () => {
    const orders = shop();
    const held = orders.hold();
    const { place, submit, is, field, initialKey } = await open(orders);
    await place();
    submit().reset();
    await is('executing');
    held.release();
    await is('hasSucceeded');
    submit().reset();
    await is('idle');
    await expect.poll(field).not.toBe(initialKey);
  });

  test('B7 a refused field: the words, the values and the key stay', async () => {
    const orders = shop({
      run: (form) =>
        form.get('note') === 'milk'
          ? refuse('validation', { executed: false, fieldErrors: { note: ['Sold out.'] } })
          : { id: 1, note: 'coffee' },
    });
    const { place, edit, note, submit, is, says, field, initialKey } = await open(orders);
    await edit('milk');
    await place();
    await is('hasErrored');
    await says('Some fields need your attention.');
    await expect.element(note).toHaveValue('milk');
    expect(submit().result).toMatchObject({ fieldErrors: { note: ['Sold out.'] } });
    await edit('coffee');
    await place();
    await is('hasSucceeded');
    expect(keysOf(orders)).toEqual([initialKey, initialKey]);
    expect(field()).toBe(initialKey);
  });

  test('B4 a stored refusal: the next gesture has the next key, and nothing is sent before it', async () => {
    const orders = shop({ run: () => refuse('failed', { executed: true, message: 'Your card was declined.' }) });
    const { place, edit, note, is, says, initialKey } = await open(orders);
    await edit('milk');
    await place();
    await is('hasErrored');
    await says('Your card was declined.');
    await expect.element(note).toHaveValue('milk');
    expect(keysOf(orders)).toEqual([initialKey]);
    await place();
    await expect.poll(() => orders.attempts.length).toBe(2);
    expect(keysOf(orders)[1]).not.toBe(initialKey);
  });

  test('a redirect is a success whose navigation belongs to the router', async () => {
    const orders = shop({
      run() {
        throw Object.assign(new Error(), { digest: 'NEXT_REDIRECT;push;/orders/1;307;' });
      },
    });
    const { place, is, says } = await open(orders);
    await place();
    await is('hasNavigated');
    await says('Taking you there…');
    await place();
    expect(orders.attempts).toHaveLength(1);
  });

  test('`notFound()` and its like reach the boundary that Next has for them', async () => {
    const orders = shop({
      run() {
        throw Object.assign(new Error(), { digest: 'NEXT_HTTP_ERROR_FALLBACK;404' });
      },
    });
    const log = vi.spyOn(console, 'error').mockImplementation(() => {}); // React tells of what a boundary catches
    onTestFinished(() => log.mockRestore());
    const [intent, initialKey] = [newIntent(), orders.issueKey()];
    const screen = await render(
      <NotFoundBoundary>
        <OrderForm orders={orders} intent={intent} initialKey={initialKey} />
      </NotFoundBoundary>,
    );
    await handsOn(screen).place();
    await expect.element(screen.getByText('NEXT_HTTP_ERROR_FALLBACK;404')).toBeVisible();
    expect(orders.attempts).toHaveLength(1);
  });

  test('`onSettled` runs once, for the answer', async () => {
    const onSettled = vi.fn();
    const orders = shop();
    orders.loseAnswer();
    const { place, is } = await open(orders, { onSettled });
    await place();
    await is('hasSucceeded');
    expect(onSettled.mock.calls).toMatchObject([[{ ok: true, replayed: true }, { recovered: false }]]);
  });
});

describe('B5 an attempt without an answer', () => {
  test.each(['request', 'answer'] as const)('the %s is lost: unknown, then the same key again', async (what) => {
    const orders = shop();
    if (what === 'request') orders.loseRequest();
    else orders.loseAnswer();
    const second = orders.hold('request');
    const { place, is, says, states, initialKey } = await open(orders);
    await place();
    await second.reached;
    await is('retrying');
    await says('Trying again. It is done only once.');
    second.release();
    await is('hasSucceeded');
    expect(states()).toEqual(['idle', 'executing', 'unknown', 'retrying', 'hasSucceeded']);
    expect(keysOf(orders)).toEqual([initialKey, initialKey]);
    expect(orders.attempts.map(({ attempt }) => attempt)).toEqual([1, 2]);
    expectCounted(orders.effects).toHaveLength(1);
  });

  test('three times: still one key, one effect', async () => {
    const orders = shop();
    orders.loseAnswer(3);
    const { place, is, initialKey } = await open(orders);
    await place();
    await is('hasSucceeded');
    expect(keysOf(orders)).toEqual(Array(4).fill(initialKey));
    expectCounted(orders.effects).toHaveLength(1);
  });

  test('a 503 is waited for as long as it asks, under the same key', async () => {
    const orders = shop();
    const refused = { executed: 'unknown', retryAfterMs: 400 } as const;
    orders.refuseNext('unavailable', refused);
    const { place, is, states, initialKey } = await open(orders);
    const began = performance.now();
    await place();
    await is('hasSucceeded');
    expect(performance.now() - began).toBeGreaterThan(refused.retryAfterMs);
    expect(states()).toEqual(['idle', 'executing', 'unknown', 'retrying', 'hasSucceeded']);
    expect(keysOf(orders)).toEqual([initialKey, initialKey]);
  });

  test('the budget ends: it says so, and a person may send the same key again or ask', async () => {
    const orders = shop();
    orders.loseRequest(4);
    const { place, is, says, checkAgain, initialKey } = await open(orders);
    await place();
    await expect.element(checkAgain).toBeVisible();
    await is('unknown');
    await says('We do not know yet whether it went through. Sending it again is safe.');
    expect(orders.attempts).toHaveLength(4);
    await userEvent.click(checkAgain);
    await says('It has not reached us so far. Sending it again is safe.');
    await place();
    await is('hasSucceeded');
    expect(new Set(keysOf(orders))).toEqual(new Set([initialKey]));
    expectCounted(orders.effects).toHaveLength(1);
  });

  test('it is asked about when it takes too long, and its late answer counts', async () => {
    const orders = shop();
    const held = orders.hold('request');
    const { place, is, says } = await open(orders, { policy: { ...IMPATIENT, timeoutMs: 50 } });
    await place();
    await says('It is still on its way. Please stay on this page.');
    await is('unknown');
    held.release();
    await is('hasSucceeded');
    expect([orders.attempts.length, orders.effects.length]).toEqual([1, 1]);
  });
});

describe('an answer that says: still running', () => {
  test('asks the status route, not the action, until it is done; then takes the replay', async () => {
    const orders = shop();
    const held = orders.hold();
    const { place, is, says, initialKey } = await open(orders);
    void sendElsewhere(orders, initialKey);
    await held.reached;
    await place();
    await is('checking');
    await says('Your first submission is still being processed.');
    await expect.poll(() => orders.questions.length).toBeGreaterThan(3);
    expect(orders.attempts).toHaveLength(2);
    held.release();
    await is('hasSucceeded');
    expect(keysOf(orders)).toEqual(Array(3).fill(initialKey));
    expectCounted(orders.effects).toHaveLength(1);
  });

  test('for too long: a person must ask again', async () => {
    const orders = shop();
    const held = orders.hold();
    const { place, is, checkAgain, initialKey } = await open(orders, { policy: IMPATIENT });
    void sendElsewhere(orders, initialKey);
    await held.reached;
    await place();
    await is('unknown');
    held.release();
    await userEvent.click(checkAgain);
    await is('hasSucceeded');
  });

  test('of another key that does the same thing: sent again as late as it asks, not at once', async () => {
    const orders = shop();
    const refused = { executed: false, retryAfterMs: 400 } as const;
    orders.refuseNext('in_flight', refused, 2);
    const { place, is, initialKey } = await open(orders);
    const began = performance.now();
    await place();
    await is('hasSucceeded');
    expect(performance.now() - began).toBeGreaterThan(2 * refused.retryAfterMs);
    expect(keysOf(orders)).toEqual(Array(3).fill(initialKey));
  });
});
