import { describe, expect, test, vi } from 'vitest';
import { userEvent } from 'vitest/browser';
import { expectCounted } from '../../scripts/testing/expect-counted.ts';
import { refuse } from '../testing/browser.ts';
import { keysOf, open, shop } from './form.fixture.tsx';

/** One gesture is one submit, whatever the answer is (contract B2). What time it takes: submission/gestures.test.ts. */

const QUESTION = 'This went through. Send it once more?';

const declining = () => shop({ run: () => refuse('failed', { executed: false, message: 'Declined.' }) });
const painted = () => new Promise((go) => requestAnimationFrame(() => requestAnimationFrame(() => setTimeout(go))));

/** A pointer goes down, and no click has come of it yet. */
const pointerDown = () => void window.dispatchEvent(new PointerEvent('pointerdown'));
const secondClick = (element: Element) =>
  void element.dispatchEvent(new MouseEvent('click', { bubbles: true, cancelable: true, detail: 2 }));

test('B2 a finger that stays on Enter makes one attempt, and the next press another one', async () => {
  const orders = declining();
  const { note, says } = await open(orders);
  await userEvent.click(note);
  await userEvent.keyboard('{Enter>20/}');
  await says('Declined.');
  expectCounted(orders.attempts).toHaveLength(1);
  await painted();
  await userEvent.keyboard('{Enter}');
  await expect.poll(() => orders.attempts.length).toBe(2);
  expect(new Set(keysOf(orders)).size).toBe(2);
});

describe('B2 a press that goes down before the answer is painted', () => {
  test('makes no second attempt, and the next one does', async () => {
    const orders = declining();
    const held = orders.hold();
    const { button, place, says, is } = await open(orders);
    await place();
    await is('executing');
    pointerDown();
    held.release();
    await says('Declined.');
    await painted();
    const pressed = button('Place order').element() as HTMLButtonElement;
    pressed.click();
    await painted();
    expectCounted(orders.attempts).toHaveLength(1);
    await place();
    await expect.poll(() => orders.attempts.length).toBe(2);
  });

  test('makes none where the form has gone on to its next key', async () => {
    const orders = shop();
    const held = orders.hold();
    const { button, place, is, submit } = await open(orders);
    await place();
    await is('executing');
    pointerDown();
    held.release();
    await is('hasSucceeded');
    submit().reset();
    await is('idle');
    (button('Place order').element() as HTMLButtonElement).click();
    await painted();
    expectCounted(orders.attempts).toHaveLength(1);
  });
});

test('B2 the second click of a double click makes no second attempt, however late it is', async () => {
  const orders = declining();
  const { button, place, says } = await open(orders);
  await place();
  await says('Declined.');
  await painted();
  pointerDown();
  secondClick(button('Place order').element());
  await painted();
  expectCounted(orders.attempts).toHaveLength(1);
});

test('B2 a click with neither pointer nor key behind it, as a screen reader makes it, is a gesture of its own', async () => {
  let isDeclined = true;
  const orders = shop({
    run: () => (isDeclined ? refuse('failed', { executed: false, message: 'Declined.' }) : { id: 1, note: 'tea' }),
  });
  const { button, says } = await open(orders);
  const pressed = button('Place order').element() as HTMLButtonElement;
  pressed.click();
  await says('Declined.');
  await painted();
  isDeclined = false;
  pressed.click();
  await says('It went through.');
  await painted();
  pressed.click();
  await says(QUESTION);
  expectCounted(orders.effects).toHaveLength(1);
});

describe('B2 a submit from code', () => {
  test('with the same values and no gesture since is the first one: it gets the first answer', async () => {
    const orders = shop();
    const { submit, button, place, is, says } = await open(orders);
    await place();
    await is('hasSucceeded');
    const form = (button('Place order').element() as HTMLButtonElement).form as HTMLFormElement;
    form.querySelector('input[name=note]')?.setAttribute('value', 'tea');
    form.requestSubmit();
    await painted();
    await says('It went through.');
    const values = new FormData(form);
    expect(await submit().executeAsync(values)).toMatchObject({ ok: true, data: { id: 1 } });
    expectCounted(orders.attempts).toHaveLength(1);
  });

  test('with other values is another intent, one after the other, whatever its person does meanwhile', async () => {
    const orders = shop();
    const { submit } = await open(orders);
    for (const note of ['tea', 'coffee', 'milk']) {
      const values = new FormData();
      values.set('note', note);
      const done = submit().executeAsync(values);
      pointerDown();
      expect(await done).toMatchObject({ ok: true, data: { note } });
    }
    expect(new Set(keysOf(orders)).size).toBe(3);
  });

  test('in development it is told that nothing was sent', async () => {
    vi.stubGlobal('process', { env: { NODE_ENV: 'development' } });
    const told = vi.spyOn(console, 'error').mockImplementation(() => {});
    const orders = shop();
    const { submit } = await open(orders);
    const first = await submit().executeAsync(new FormData());
    expect(await submit().executeAsync(new FormData())).toEqual(first);
    await expect.poll(() => told.mock.calls.flat().join()).toMatch(/form of checkout was submitted once more by code/);
    for (const note of document.querySelectorAll('[data-oncekit=complaint]')) note.remove();
    vi.unstubAllGlobals();
    vi.restoreAllMocks();
  });
});

describe('`again="allow"`', () => {
  test('each click counts, also a double click’s, and nothing is asked', async () => {
    const orders = shop();
    const { button, place, says, is } = await open(orders, { again: 'allow' });
    await place();
    await is('hasSucceeded');
    secondClick(button('Place order').element());
    await says('It went through. Order 2');
    await place();
    await says('It went through. Order 3');
    expect(new Set(keysOf(orders)).size).toBe(3);
  });

  test('a key that is held down counts once', async () => {
    const orders = shop();
    const { button, says } = await open(orders, { again: 'allow' });
    (button('Place order').element() as HTMLElement).focus();
    await userEvent.keyboard('{Enter>20/}');
    await says('It went through. Order 1');
    expectCounted(orders.effects).toHaveLength(1);
    await userEvent.keyboard('{Enter}');
    await says('It went through. Order 2');
  });
});
