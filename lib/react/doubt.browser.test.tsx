import { describe, expect, test } from 'vitest';
import { userEvent } from 'vitest/browser';
import { expectCounted } from '../../scripts/testing/expect-counted.ts';
import type { Code } from '../core/codes.ts';
import { refuse, type TestOperationOptions } from '../testing/browser.ts';
import { IMPATIENT, keysOf, ONCE, type Order, open, sendElsewhere, shop } from './form.fixture.tsx';
import type { RetryPolicy } from './index.ts';

/** When nobody knows whether it went through: what ends the doubt, and what does not (contract B4, B5, S5). */

type How = Pick<TestOperationOptions<Order>, 'run'> & { policy: Partial<RetryPolicy> };

/** Behind the last attempt that was lost: whether something else answers in the server's place. */
const looked = (key: string) => ({ method: 'GET', key });

/** A form whose only attempt had no answer: its request was lost, or its answer. */
async function inDoubt(what: 'request' | 'answer', { run, policy = ONCE }: Partial<How> = {}) {
  const orders = shop(run ? { run } : {});
  if (what === 'request') orders.loseRequest();
  else orders.loseAnswer();
  const page = await open(orders, { policy });
  await page.place();
  await page.is('unknown');
  await expect.element(page.checkAgain).toBeVisible();
  return page;
}

describe('B5 `unknown` survives what says nothing of the key', () => {
  test.each<[Code, string]>([
    ['validation', 'Some fields need your attention.'],
    ['malformed_body', 'The request could not be read.'],
    ['unauthorized', 'Please sign in, then send it again.'],
    ['key_invalid', 'Your session has changed since this page was opened, so nothing was done just now.'],
    ['key_expired', 'This page was open for too long, so nothing was done just now.'],
  ])('%s: it says why, keeps the key, and the next attempt is the replay', async (code, why) => {
    const { orders, place, is, says, initialKey } = await inDoubt('answer');
    orders.refuseNext(code, { executed: 'unknown' });
    await place();
    await says(`We do not know yet whether it went through. Sending it again is safe. ${why}`);
    await is('unknown');
    await place();
    await is('hasSucceeded');
    expect(keysOf(orders)).toEqual([initialKey, initialKey, initialKey]);
    expectCounted(orders.effects).toHaveLength(1);
  });

  test.each<Code>(['rate_limited', 'deferred', 'unavailable', 'internal'])(
    '%s: keeps the doubt and the key',
    async (code) => {
      const { orders, place, is, submit, initialKey } = await inDoubt('answer');
      orders.refuseNext(code, { executed: 'unknown' });
      await place();
      await expect.poll(() => submit().result).toMatchObject({ code });
      await is('unknown');
      await place();
      await is('hasSucceeded');
      expect(new Set(keysOf(orders))).toEqual(new Set([initialKey]));
      expectCounted(orders.effects).toHaveLength(1);
    },
  );

  test('a stored refusal ends it', async () => {
    const run = () => refuse('failed', { executed: true, message: 'Declined.' });
    const { place, is, says } = await inDoubt('answer', { run });
    await place();
    await is('hasErrored');
    await says('Declined.');
  });
});

describe('B5 an edit while the outcome is unknown', () => {
  test('it went through: the page says so, and nothing else is sent', async () => {
    const { orders, edit, note, is, says, place, initialKey } = await inDoubt('answer');
    await edit('coffee');
    await expect.element(note).toHaveValue('coffee');
    await is('hasSucceeded');
    await says('This was already sent, and it went through. Order 1');
    await place();
    expect(orders.attempts).toHaveLength(1);
    expect(orders.questions).toEqual([looked(initialKey), { method: 'GET', key: initialKey }]);
  });

  test('it never arrived: the old key is fenced, then the new values have a new key', async () => {
    const { orders, edit, is, field, place, initialKey } = await inDoubt('request');
    await edit('coffee');
    await is('idle');
    expect(orders.status(initialKey).state).toBe('abandoned');
    await expect.poll(field).not.toBe(initialKey);
    await place();
    await is('hasSucceeded');
    expect(orders.effects.map(({ data }) => data.note)).toEqual(['coffee']);
    // The first request, should it come after all:
    expect(await sendElsewhere(orders, initialKey)).toMatchObject({ code: 'key_abandoned' });
    expectCounted(orders.effects).toHaveLength(1);
  });

  test('it is running: waits for its end, and shows it', async () => {
    const { orders, edit, is, field, initialKey } = await inDoubt('request');
    const held = orders.hold();
    void sendElsewhere(orders, initialKey); // the lost request comes after all
    await held.reached;
    await edit('coffee');
    await is('checking');
    await expect.poll(() => orders.questions.length).toBeGreaterThan(3);
    expect(field()).toBe(initialKey);
    held.release();
    await is('hasSucceeded');
    expect(orders.effects.map(({ data }) => data.note)).toEqual(['tea']);
  });

  test('nobody answers: stays unknown under the same key', async () => {
    const { orders, edit, is, checkAgain, field, initialKey } = await inDoubt('request', { policy: IMPATIENT });
    orders.down();
    await edit('coffee');
    await is('unknown');
    expect(field()).toBe(initialKey);
    orders.up();
    await userEvent.click(checkAgain);
    await is('unknown');
    expect(orders.status(initialKey).state).toBe('absent');
  });

  test('a stored refusal is shown, and the next gesture has the next key', async () => {
    const run = () => refuse('failed', { executed: true, message: 'Declined.' });
    const { orders, edit, is, says, place, initialKey } = await inDoubt('answer', { run });
    await edit('coffee');
    await is('hasErrored');
    await says('Declined.');
    await place();
    await expect.poll(() => orders.attempts.length).toBe(2);
    expect(keysOf(orders)[1]).not.toBe(initialKey);
  });
});

describe('B4 S5 starting over', () => {
  test('fences the old key first', async () => {
    const { orders, startOver, place, is, field, initialKey } = await inDoubt('request');
    await userEvent.click(startOver);
    await is('idle');
    expect(orders.questions).toEqual([looked(initialKey), { method: 'DELETE', key: initialKey }]);
    await expect.poll(field).not.toBe(initialKey);
    await place();
    await is('hasSucceeded');
    expectCounted(orders.effects).toHaveLength(1);
  });

  test('loses to what went through: that is shown, and starting over once more is a new intent', async () => {
    const { orders, startOver, place, is, says, field, initialKey } = await inDoubt('answer');
    await userEvent.click(startOver);
    await is('hasSucceeded');
    await says('This was already sent, and it went through. Order 1');
    expect(field()).toBe(initialKey);
    await userEvent.click(startOver);
    await is('idle');
    await place();
    await says('It went through. Order 2');
    expectCounted(orders.effects).toHaveLength(2);
  });

  test('keeps the key while it cannot be fenced', async () => {
    const { orders, startOver, is, field, initialKey } = await inDoubt('request', { policy: IMPATIENT });
    orders.down();
    await userEvent.click(startOver);
    await is('unknown');
    expect(field()).toBe(initialKey);
  });

  test('where the key leads nowhere: it is given up before another takes its place', async () => {
    const orders = shop();
    orders.refuseNext('precondition_failed');
    const { place, startOver, is, says, initialKey } = await open(orders);
    await place();
    await says('It has changed since you read it.');
    await userEvent.click(startOver);
    await is('idle');
    expect(orders.status(initialKey).state).toBe('abandoned');
    await place();
    await is('hasSucceeded');
    expectCounted(orders.effects).toHaveLength(1);
    expect(keysOf(orders)[1]).not.toBe(initialKey);
  });

  test('a key past its window gives way only to a person who starts over', async () => {
    const { orders, startOver, edit, is, field, initialKey } = await inDoubt('request');
    orders.expire(initialKey);
    await edit('coffee');
    await is('unknown');
    expect(field()).toBe(initialKey);
    await userEvent.click(startOver);
    await is('idle');
    await expect.poll(field).not.toBe(initialKey);
  });
});

describe('a key that was used for other values', () => {
  test('the first result is shown, and `startOver` offered', async () => {
    const orders = shop();
    const { place, startOver, edit, is, says, initialKey } = await open(orders);
    await sendElsewhere(orders, initialKey, 'milk');
    await place();
    await is('hasSucceeded');
    await says('This was already sent, and it went through. Order 1');
    await userEvent.click(startOver);
    await is('idle');
    await edit('coffee');
    await place();
    await says('It went through. Order 2');
    expect(orders.effects.map(({ data }) => data.note)).toEqual(['milk', 'coffee']);
  });

  test('while the first is running, it waits for it, and shows what came of that', async () => {
    const orders = shop();
    const held = orders.hold();
    const { place, is, says, initialKey } = await open(orders);
    void sendElsewhere(orders, initialKey, 'milk');
    await held.reached;
    await place();
    await is('checking');
    await says('Your first submission is still being processed.');
    held.release();
    await is('hasSucceeded');
    await says('This was already sent, and it went through. Order 1');
    expect(orders.effects.map(({ data }) => data.note)).toEqual(['milk']);
  });

  test('a key that was given up elsewhere: the next gesture has the next one', async () => {
    const orders = shop();
    const { place, is, says, initialKey } = await open(orders);
    orders.fence(initialKey);
    await place();
    await is('hasErrored');
    await says('This was called off before it was done, so nothing was done. Send it again if you still want it.');
    await place();
    await is('hasSucceeded');
    expectCounted(orders.effects).toHaveLength(1);
    expect(keysOf(orders)[1]).not.toBe(initialKey);
  });
});

describe('a key that was never sent before', () => {
  test.each<Code>(['key_expired', 'key_invalid'])('%s: gives way at the next gesture', async (code) => {
    const orders = shop();
    orders.refuseNext(code);
    const { place, is, initialKey } = await open(orders);
    await place();
    await is('hasErrored');
    await place();
    await is('hasSucceeded');
    expect(keysOf(orders)[0]).toBe(initialKey);
    expect(keysOf(orders)[1]).not.toBe(initialKey);
    expectCounted(orders.effects).toHaveLength(1);
  });
});
