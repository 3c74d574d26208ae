import { expectCounted } from '../fixtures/expect-counted.ts';
import { WILD } from '../fixtures/wild.ts';
import type { Person } from './person.ts';
import { expect, test } from './test.ts';

/** A page that is opened again, and a form in a layout (app/examples/wild), also where no history names its entries. */

const SHELVES = `${WILD}/shelves`;
const KITCHEN = `${SHELVES}/kitchen`;
const TWO = { orders: 2, stockTaken: 5, keys: 2 };

test('opened again by a link, and by its address', async ({ person, gained, note }) => {
  await person.go(KITCHEN);
  await person.untilHydrated();
  note((await person.tab.evaluate(() => 'navigation' in window, null)) ? 'names its entries' : 'names no entries');
  await save(person, '2');
  await person.press('The kitchen');
  await untilAt(person, KITCHEN);
  await save(person, '3');
  expectCounted(await gained()).toEqual(TWO);
  await person.go(KITCHEN);
  await person.untilHydrated();
  await save(person, '4');
  expectCounted(await gained()).toEqual({ orders: 3, stockTaken: 9, keys: 3 });
});

test('back behind a save', async ({ person, gained }) => {
  await person.go(KITCHEN);
  await person.untilHydrated();
  await save(person, '2');
  await person.tab.back();
  await person.untilHears({ words: /already sent/ });
  expectCounted(await gained()).toMatchObject({ orders: 1 });
});

test('loaded again before it has led elsewhere', async ({ person, network, gained }) => {
  await person.go(KITCHEN);
  await person.untilHydrated();
  await network.break({ match: { method: 'POST' }, kind: 'delay-answer', ms: 20_000, times: 1 });
  await person.type('Quantity', '2');
  await person.press('Save');
  await expect.poll(async () => (await gained()).orders).toBe(1);
  await person.tab.reload();
  await person.untilHears({ words: /already sent/ });
  expectCounted(await gained()).toMatchObject({ orders: 1 });
});

test('a form in a layout, led to its own page and used again', async ({ person, gained }) => {
  await person.go(SHELVES);
  await person.untilHydrated();
  for (const [quantity, orders] of [
    ['2', 1],
    ['3', 2],
  ] as const) {
    await person.type('Quantity', quantity);
    await person.press('Order');
    await expect.poll(async () => (await gained()).orders).toBe(orders);
    await person.untilHears({ state: /^hasSucceeded$/, words: /^It went through\.$/ });
  }
  expectCounted(await gained()).toEqual(TWO);
});

/** Saves the kitchen's page, and waits until it has led to the list. */
async function save(person: Person, quantity: string): Promise<void> {
  await person.type('Quantity', quantity);
  await person.press('Save');
  await untilAt(person, SHELVES);
}

async function untilAt(person: Person, path: string): Promise<void> {
  await person.until(async () => expect(await person.path()).toBe(path));
}
