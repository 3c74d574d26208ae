import type { AppProcess } from '../fixtures/app-process.ts';
import { MANY, TO_CHECKOUT } from '../fixtures/checkout-plays.ts';
import type { Network } from '../fixtures/proxy-control.ts';
import { ADA } from '../fixtures/shop.ts';
import type { BrowserWindow } from './engine.ts';
import { Person } from './person.ts';
import { expect, test } from './test.ts';

/** The rows of e2e/matrix.e2e.ts, as a person in another engine goes through them. */

/** The values of a checkout. */
interface Parts {
  person: Person;
  window: BrowserWindow;
  network: Network;
  app: AppProcess;
  gained: () => Promise<{ orders: number; keys: number }>;
  /** Since the form was filled. */
  posts: () => Promise<number>;
  note: (words: string) => void;
}

interface Row {
  name: string;
  /** The deeds of a person and the world to a checkout that is filled and not yet sent; ends when the person knows. */
  play: (parts: Parts) => Promise<void>;
  /** Its scripts do not arrive, so the page is not hydrated while the play begins. */
  isHeld?: boolean;
  /** A second form has a key of its own, if it gets to send it. */
  keys?: number[];
}

const rows: Row[] = [
  {
    name: 'double click',
    async play({ person, posts }) {
      await person.press('Place order', 2);
      await person.untilOrdered();
      expect(await posts(), 'the second click never left the browser').toBe(1);
    },
  },
  {
    name: 'double click before hydration',
    isHeld: true,
    async play({ person, app, posts, note }) {
      const letGo = await app.holdAt('after-claim');
      const button = await person.find('Place order');
      await person.tab.click(button, 1);
      await expect.poll(posts).toBe(1);
      await person.tab.clickWhileLeaving(button);
      // Bounded: whether the second one is sent is the engine's to decide.
      await expect
        .poll(posts, { timeout: 3000 })
        .toBe(2)
        .catch(() => {});
      await letGo();
      note(`${await posts()} sent`);
      await person.untilOrdered();
    },
  },
  ...[1, 3].map(
    (times): Row => ({
      name: `lost answer ×${times}`,
      async play({ person, network, posts, note }) {
        await network.break({ match: TO_CHECKOUT, kind: 'lose-answer', times });
        await person.press('Place order');
        await person.untilOrdered();
        note(`${await posts()} sent`);
        expect((await network.posts()).filter(({ fault }) => fault === 'lose-answer').length).toBe(times);
      },
    }),
  ),
  {
    name: 'reload mid-flight',
    async play({ person, app, gained }) {
      const letGo = await app.holdAt('after-started');
      await person.press('Place order');
      await untilClaimed(gained);
      await person.tab.reload();
      await person.untilHears({ state: /^checking$/ });
      await letGo();
      await person.untilHears({ words: /already/ });
      await person.press('View the order');
      await person.untilOrdered();
    },
  },
  {
    name: 'offline mid-flight',
    async play({ person, window, network, app, gained, note }) {
      await network.break({ match: TO_CHECKOUT, kind: 'lose-answer', times: MANY });
      const letGo = await app.holdAt('after-started');
      await person.press('Place order');
      await untilClaimed(gained);
      if (window.setOffline) await window.setOffline(true);
      else await network.break({ kind: 'lose-request', times: 1000 });
      note(window.setOffline ? 'offline' : 'cut off');
      await letGo();
      await expect.poll(async () => (await gained()).orders).toBe(1);
      await person.untilHears({ words: /You are offline|Placing your order|We have no answer/ });
      await network.heal();
      await window.setOffline?.(false);
      // The next attempt gets through by itself. Where all were spent meanwhile, the form leaves it to the person.
      await person.until(async () => {
        for (const way of ['Check again', 'View the order']) await person.pressIfThere(way);
        expect(await person.path()).toMatch(/^\/orders\//);
      }, 40_000);
      await person.untilOrdered();
    },
  },
  {
    name: 'edit after a lost answer',
    async play({ person, network, posts }) {
      await network.break({ match: TO_CHECKOUT, kind: 'lose-answer', times: MANY });
      await person.press('Place order');
      await expect.poll(posts).toBeGreaterThan(1);
      await person.type('City', 'Paris');
      await network.heal();
      // Between two attempts the edit stops them and the form finds out; during one, that one's answer leads on.
      await person.until(async () => {
        await person.pressIfThere('View the order');
        expect(await person.path()).toMatch(/^\/orders\//);
      });
      await person.untilOrdered();
      await person.untilReads(ADA.City);
    },
  },
  {
    name: 'two tabs',
    keys: [1, 2],
    async play({ person, network }) {
      const other = new Person(await person.tab.another(), network.url);
      await other.go('/checkout');
      await other.untilHydrated();
      await other.fill();
      await person.press('Place order');
      await person.untilOrdered();
      // A tab that has heard of it has no form left.
      await other.untilHears({ words: /already/ });
    },
  },
  {
    name: 'back after success',
    async play({ person }) {
      await person.press('Place order');
      await person.untilOrdered();
      const order = await person.path();
      await person.tab.back();
      await person.until(async () => expect(await person.path()).toBe('/checkout'));
      // The browser shows the old form, which may be sent again, or fetches the page anew, which knows.
      if (await person.sees('Place order')) await person.press('Place order');
      await person.until(async () =>
        expect((await person.path()) === order || (await person.hears())?.words.includes('already')).toBe(true),
      );
    },
  },
  {
    name: 'server killed mid-flight',
    async play({ person, app }) {
      await app.crashAt('before-commit');
      await person.press('Place order');
      await person.untilOrdered();
      expect(app.lines.some((line) => line.includes('was killed by SIGKILL'))).toBe(true);
    },
  },
];

for (const { name, isHeld, keys, play } of rows) {
  test(name, async ({ person, window, network, app, gained, expectOneOrder, posts, note }) => {
    // Before the first page: what has once come is taken from the cache.
    if (isHeld) await network.break({ match: { path: '/_next/static/*' }, kind: 'status', times: 1000 });
    await person.buy();
    if (!isHeld) await person.untilHydrated();
    await person.fill();
    const key = await person.key();
    if (!isHeld) await network.heal();
    app.lines.length = 0;
    const before = await posts();

    const counted = async () => (await posts()) - before;
    await play({ person, window, network, app, gained, posts: counted, note });

    await expectOneOrder(key, { keys });
  });
}

/** The server has the request and is at it. On its way a request dies with the page that sent it. */
async function untilClaimed(gained: Parts['gained']): Promise<void> {
  await expect.poll(async () => (await gained()).keys).toBe(1);
}
