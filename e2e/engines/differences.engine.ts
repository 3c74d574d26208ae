import { MANY, TO_CHECKOUT } from '../fixtures/checkout-plays.ts';
import { expectCounted } from '../fixtures/expect-counted.ts';
import { ADA } from '../fixtures/shop.ts';
import type { Tab } from './engine.ts';
import { expect, test } from './test.ts';

/** Engines do these things differently; the outcome must be the same in all of them. */

const SCRIPTS = { path: '/_next/static/*' };
const PLAIN = { method: 'POST', path: '/api/lab/plain' };

for (const [when, isHeld] of [
  ['values after a reload', false],
  ['values after a reload, before hydration', true],
] as const) {
  test(when, async ({ storing: person, network, expectOneOrder, note }) => {
    if (isHeld) await network.break({ match: SCRIPTS, kind: 'status', times: 1000 });
    await person.buy();
    if (!isHeld) await person.untilHydrated();
    await person.fill();
    const first = await person.key();
    // As React does when a refusal has brought the next key: only a field that was written to is given back.
    await person.tab.evaluate(writeKey, first);
    await person.tab.reload();
    if (!isHeld) await person.untilHydrated();
    note((await person.entered()).City === ADA.City ? 'given back' : 'gone');
    // Given back into the new page, the first one's key would be another form's.
    const key = await person.key();
    expect(key, 'the key of the page that is there').not.toBe(first);
    await person.fill();
    await person.press('Place order');
    await person.untilOrdered();
    await expectOneOrder(key);
  });
}

for (const kept of ['as served', 'stored'] as const) {
  test(`back to a page left mid-flight, ${kept}`, async ({
    person: served,
    storing,
    app,
    gained,
    expectOneOrder,
    note,
  }) => {
    const person = kept === 'stored' ? storing : served;
    await person.buy();
    await person.untilHydrated();
    await person.fill();
    const key = await person.key();
    await person.tab.evaluate(() => {
      document.body.dataset.isFirst = '';
    }, null);
    const letGo = await app.holdAt('after-started');
    await person.press('Place order');
    await expect.poll(async () => (await gained()).keys).toBe(1);
    await person.go('/docs');
    await person.tab.back();
    await person.until(async () => expect(await person.path()).toBe('/checkout'));
    await person.untilHears({ state: /^(checking|executing|unknown|retrying)$/ });
    note((await person.tab.evaluate(() => 'isFirst' in document.body.dataset, null)) ? 'kept' : 'loaded anew');
    await letGo();
    await person.until(async () => {
      const isThere = (await person.path()).startsWith('/orders/');
      expect(isThere || (await person.hears())?.words.includes('already')).toBe(true);
    });
    await expectOneOrder(key);
  });
}

for (const [name, kind] of [
  ['private window: answer lost, then a reload', 'private'],
  ['no storage: answer lost', 'noStorage'],
] as const) {
  test.describe(() => {
    test.use({ kind });

    test(name, async ({ person, network, expectOneOrder, posts, note }) => {
      await person.buy();
      await person.untilHydrated();
      await person.fill();
      const key = await person.key();
      note((await person.tab.evaluate(canStore, null)) ? 'stores' : 'refuses');
      await network.heal();
      await network.break({ match: TO_CHECKOUT, kind: 'lose-answer', times: kind === 'private' ? MANY : 3 });
      await person.press('Place order');
      if (kind === 'private') {
        await expect.poll(posts).toBeGreaterThan(0);
        await person.untilHears({ state: /^(unknown|retrying)$/ });
        await person.tab.reload();
        await network.heal();
        await person.untilHears({ words: /already/ });
        await person.press('View the order');
      }
      await person.untilOrdered();
      await expectOneOrder(key);
    });
  });
}

for (const connection of ['new', 'kept alive'] as const) {
  test(`copies of one fetch, connection ${connection}`, async ({ person, network, posts, gained, note }) => {
    // `Connection: close` in every answer so far, or six connections that wait for more.
    if (connection === 'new') await network.break({ kind: 'delay', keepAlive: false, times: 1000 });
    await person.go('/lab');
    await person.untilHydrated();
    if (connection === 'kept alive') await warmUp(person.tab);
    await network.heal();
    await network.break({ match: PLAIN, kind: 'lose-answer', times: MANY });
    expect(await person.tab.evaluate(orderWithoutKit, null)).toBe('failed');
    const copies = await posts();
    note(`${copies}`);
    expect(copies).toBeGreaterThan(0);
    expectCounted((await gained()).orders, 'each copy is an order where nothing holds them together').toBe(copies);
  });
}

test('copies of one native post, connection kept alive', async ({ person, network, posts, expectOneOrder, note }) => {
  await network.break({ match: SCRIPTS, kind: 'status', times: 1000 });
  await person.buy();
  await person.fill();
  const key = await person.key();
  await warmUp(person.tab);
  const before = await posts();
  await network.break({ match: TO_CHECKOUT, kind: 'lose-answer', times: MANY });
  await person.press('Place order');
  // The browser's own page: it has given up.
  await person.until(async () =>
    expect(await person.tab.evaluate(() => document.querySelector('form') === null, null)).toBe(true),
  );
  note(`${(await posts()) - before}`);
  await expectOneOrder(key);
});

/** Opens several connections and leaves them idle. A browser takes a reused one that breaks for a server about to close. */
async function warmUp(tab: Tab): Promise<void> {
  await tab.evaluate(async () => {
    await Promise.all(Array.from({ length: 6 }, () => fetch('/api/products').then((answer) => answer.text())));
  }, null);
}

// Runs in the page.

const writeKey = (key: string) => {
  const field = document.querySelector<HTMLInputElement>('main input[name=idempotency_key]');
  if (!field) throw new Error('There is no key.');
  field.value = `${key}-next`;
  field.value = key;
};

const canStore = () => {
  try {
    sessionStorage.setItem('oncekit-test', '1');
    sessionStorage.removeItem('oncekit-test');
    return true;
  } catch {
    return false;
  }
};

const orderWithoutKit = () => {
  const body = new FormData();
  body.set('sku', 'mug');
  body.set('quantity', '1');
  return fetch('/api/lab/plain', { method: 'POST', body, headers: { Accept: 'application/json' } }).then(
    () => 'answered',
    () => 'failed',
  );
};
