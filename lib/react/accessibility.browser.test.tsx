import axe from 'axe-core';
import { afterEach, describe, expect, test, vi } from 'vitest';
import { cdp, userEvent } from 'vitest/browser';
import { IMPATIENT, newIntent, ONCE, open, type Page, QUICK, sendElsewhere, shop } from './form.fixture.tsx';
import type { Status } from './index.ts';

/** People hear every state, and reach every control without a mouse (contract B7). Nothing that the kit shows moves. */

afterEach(() => vi.restoreAllMocks());

type Shop = ReturnType<typeof shop>;

const redirects = () => {
  throw Object.assign(new Error(), { digest: 'NEXT_REDIRECT;push;/orders/1;307;' });
};

/** A state, how the server brings it about, and what a person does for it besides submitting. */
interface Way {
  state: Status;
  buttons?: string[];
  before?: (orders: Shop, key: string) => unknown;
  run?: () => never;
  after?: (page: Page) => unknown;
  policy?: typeof QUICK;
}

const WAYS: Record<string, Way> = {
  executing: { state: 'executing', before: (orders) => orders.hold() },
  retrying: {
    state: 'retrying',
    before(orders) {
      orders.loseRequest();
      orders.hold();
    },
  },
  offline: {
    state: 'offline',
    before() {
      vi.spyOn(navigator, 'onLine', 'get').mockReturnValue(false);
      vi.spyOn(window, 'fetch').mockRejectedValue(new TypeError('Failed to fetch'));
    },
  },
  unknown: {
    state: 'unknown',
    buttons: ['Check again', 'Start over'],
    before: (orders) => orders.loseRequest(),
    policy: ONCE,
  },
  'unknown, and absent': {
    state: 'unknown',
    buttons: ['Check again', 'Start over'],
    before: (orders) => orders.loseRequest(),
    policy: ONCE,
    async after({ checkAgain, says }) {
      await userEvent.click(checkAgain);
      await says('It has not reached us');
    },
  },
  checking: {
    state: 'checking',
    async before(orders, key) {
      const held = orders.hold();
      void sendElsewhere(orders, key);
      await held.reached;
    },
  },
  'unknown, and still running': {
    state: 'unknown',
    buttons: ['Check again'],
    async before(orders, key) {
      const held = orders.hold();
      void sendElsewhere(orders, key);
      await held.reached;
    },
    policy: { ...IMPATIENT, pollMs: 100 },
    async after({ checkAgain, rerender }) {
      await expect.element(checkAgain).toBeVisible();
      await rerender({ policy: QUICK });
      await userEvent.click(checkAgain);
    },
  },
  hasSucceeded: { state: 'hasSucceeded' },
  'hasSucceeded, found again': {
    state: 'hasSucceeded',
    buttons: ['Start over'],
    before: (orders) => orders.loseAnswer(),
    policy: ONCE,
    after: ({ checkAgain }) => userEvent.click(checkAgain),
  },
  hasErrored: { state: 'hasErrored', before: (orders) => orders.refuseNext('validation') },
  'hasErrored, for good': {
    state: 'hasErrored',
    buttons: ['Start over'],
    before: (orders) => orders.refuseNext('precondition_failed'),
  },
  hasNavigated: { state: 'hasNavigated', run: redirects },
};

async function openIn({ run, before, after, policy = QUICK }: Way) {
  const orders = shop(run ? { run } : {});
  const [intent, initialKey] = [newIntent(), orders.issueKey()];
  await before?.(orders, initialKey);
  const page = await open(orders, { intent, initialKey, policy });
  return {
    ...page,
    async submit() {
      (page.note.element() as HTMLElement).focus();
      await userEvent.keyboard('{Enter}');
      await after?.(page);
    },
  };
}

describe('axe finds nothing', () => {
  test('idle', async () => {
    const { screen } = await openIn({ state: 'idle' });
    expect(await violationsIn(screen.container)).toEqual([]);
  });

  test.each(Object.entries(WAYS))('%s', async (_, way) => {
    const { submit, is, screen } = await openIn(way);
    await submit();
    await is(way.state);
    expect(
      screen
        .getByRole('form')
        .getByRole('button')
        .elements()
        .map((one) => one.textContent),
    ).toEqual(['Place order', ...(way.buttons ?? [])]);
    expect(await violationsIn(screen.container)).toEqual([]);
  });

  test('it would: a nameless button, and an input without a label', async () => {
    const { screen } = await open(shop(), { children: <input name="city" /> });
    expect(await violationsIn(screen.container)).toEqual(['label']);
  });

  async function violationsIn(container: Element): Promise<string[]> {
    return (await axe.run(container)).violations.map(({ id }) => id);
  }
});

/** The words that are read out: the whole region, each time that something in it has changed. */
function hearing({ status }: Page): string[] {
  const heard: string[] = [];
  const listen = new MutationObserver(() => heard.push(region.textContent ?? ''));
  const region = status.element();
  listen.observe(region, { childList: true, characterData: true, subtree: true });
  return heard;
}

describe('B7 a screen reader', () => {
  test('hears each change once: a lost answer', async () => {
    const orders = shop();
    orders.loseAnswer();
    const page = await open(orders);
    const heard = hearing(page);
    await page.place();
    await page.is('hasSucceeded');
    expect(heard).toEqual(['Sending…', 'Trying again. It is done only once.', 'It went through. Order 1']);
  });

  test('hears each change once: doubt, a check, an edit', async () => {
    const orders = shop();
    orders.loseRequest();
    const page = await open(orders, { policy: ONCE });
    const heard = hearing(page);
    await page.place();
    await userEvent.click(page.checkAgain);
    await page.says('It has not reached us');
    await page.edit('coffee');
    await page.is('idle');
    expect(heard).toEqual([
      'Sending…',
      'We do not know yet whether it went through. Sending it again is safe.',
      'Checking whether it went through…',
      'It has not reached us so far. Sending it again is safe.',
      'Checking whether it went through…',
      '',
    ]);
  });

  test('hears it from one polite region, which is there before it speaks', async () => {
    const { is } = await open(shop());
    await is('idle');
    expect(await liveRegions()).toEqual([{ role: 'status', live: 'polite', atomic: true }]);
  });

  interface Node {
    role?: { value: string };
    properties?: { name: string; value: { value: unknown } }[];
  }
  interface Frame {
    frame: { id: string; url: string };
    childFrames?: Frame[];
  }

  /** As Chromium tells assistive technology of this frame. */
  async function liveRegions() {
    const session = cdp() as unknown as { send(method: string, params?: object): Promise<never> };
    const { frameTree }: { frameTree: Frame } = await session.send('Page.getFrameTree');
    const frames = [frameTree, ...(frameTree.childFrames ?? [])].map(({ frame }) => frame);
    const frameId = frames.find(({ url }) => url === location.href)?.id;
    const { nodes }: { nodes: Node[] } = await session.send('Accessibility.getFullAXTree', { frameId });
    return nodes.flatMap(({ role, properties = [] }) => {
      const { live, atomic } = Object.fromEntries(properties.map(({ name, value }) => [name, value.value]));
      return live ? [{ role: role?.value, live, atomic }] : [];
    });
  }
});

describe('B7 the keyboard alone', () => {
  const focused = () => document.activeElement?.textContent || document.activeElement?.getAttribute('name');

  test.each(Object.entries(WAYS).filter(([, { after }]) => !after))('stays where it is: %s', async (_, way) => {
    const { submit, note, is } = await openIn(way);
    await submit();
    await is(way.state);
    await expect.element(note).toHaveFocus();
  });

  test('reaches the buttons in the order in which they stand', async () => {
    const { submit, checkAgain } = await openIn(WAYS.unknown as Way);
    await submit();
    await expect.element(checkAgain).toBeVisible();
    const reached: unknown[] = [];
    for (let n = 0; n < 4; n++) {
      reached.push(focused());
      await userEvent.tab();
    }
    expect(reached).toEqual(['note', 'Place order', 'Check again', 'Start over']);
  });

  test('a button keeps the focus while it works, and while it is of use', async () => {
    const { orders, submit, checkAgain, is, says } = await openIn(WAYS.unknown as Way);
    await submit();
    await expect.element(checkAgain).toBeVisible();
    (checkAgain.element() as HTMLElement).focus();
    await userEvent.keyboard('{Enter}');
    await says('It has not reached us');
    expect(focused()).toBe('Check again');
    const held = orders.hold();
    void sendElsewhere(orders, orders.attempts[0]?.key as string);
    await held.reached;
    await userEvent.keyboard(' ');
    await is('checking');
    const asked = orders.questions.length;
    await expect.poll(() => orders.questions.length).toBeGreaterThan(asked + 3);
    await expect.element(checkAgain).toHaveFocus();
    held.release();
    await is('hasSucceeded');
  });

  test.each([
    ['Check again', 'hasSucceeded', 'This was already sent, and it went through. Order 1'],
    ['Start over', 'idle', ''],
  ] as const)('%s leaves the focus where it stood when it is of no more use', async (name, state, words) => {
    const orders = shop();
    if (state === 'idle') orders.loseRequest();
    else orders.loseAnswer();
    const page = await open(orders, { policy: ONCE });
    const { place, button, status, is, says, checkAgain } = page;
    await place();
    await expect.element(checkAgain).toBeVisible();
    const heard = hearing(page);
    (button(name).element() as HTMLElement).focus();
    await userEvent.keyboard('{Enter}');
    await is(state);
    await says(words);
    expect(document.activeElement?.previousElementSibling).toBe(status.element());
    expect(heard).toEqual(['Checking whether it went through…', words]);
    // A key that is still held down presses nothing, and the next one goes on from there.
    await userEvent.keyboard('{Enter}');
    await is(state);
    await userEvent.tab({ shift: true });
    expect(focused()).toBe('Place order');
    await is(state);
  });
});
