import { afterEach, describe, expect, test, vi } from 'vitest';
import { expectCounted } from '../../scripts/testing/expect-counted.ts';
import { keysOf, open, shop } from './form.fixture.tsx';

/** Offline and back (contract B5). Whether the browser says so is played here; a real loss is the e2e tests' matter. */

afterEach(() => vi.restoreAllMocks());

describe('B5 without a network', () => {
  function network() {
    const onLine = vi.spyOn(navigator, 'onLine', 'get');
    let cut: { mockRestore(): void } | undefined;
    return {
      /** It says so, and is not. */
      saysGone: () => void onLine.mockReturnValue(false),
      gone() {
        onLine.mockReturnValue(false);
        cut = vi.spyOn(window, 'fetch').mockRejectedValue(new TypeError('Failed to fetch'));
      },
      back() {
        onLine.mockReturnValue(true);
        cut?.mockRestore();
        window.dispatchEvent(new Event('online'));
      },
    };
  }

  test('it says so, and sends once when the network is back', async () => {
    const orders = shop();
    const { place, is, says, initialKey } = await open(orders);
    const net = network();
    net.gone();
    await place();
    await is('offline');
    await says('You are offline. It is sent when you are back.');
    await place();
    expect(orders.attempts).toHaveLength(0);
    net.back();
    await is('hasSucceeded');
    expect(keysOf(orders)).toEqual([initialKey]);
  });

  test('a browser that is wrong about it keeps nothing back', async () => {
    const orders = shop();
    const { place, is, states } = await open(orders);
    network().saysGone();
    await place();
    await is('hasSucceeded');
    expect(states()).toEqual(['idle', 'executing', 'hasSucceeded']);
    expect(orders.attempts).toHaveLength(1);
  });

  test('gone while an attempt is out: the same key goes out again', async () => {
    const orders = shop();
    const lost = orders.hold('answer');
    const { place, is, initialKey } = await open(orders);
    await place();
    await lost.reached;
    const net = network();
    net.gone();
    lost.lose();
    await is('offline');
    net.back();
    await is('hasSucceeded');
    expect(keysOf(orders)).toEqual([initialKey, initialKey]);
    expectCounted(orders.effects).toHaveLength(1);
  });

  test('an edit calls off what was not sent yet: only what is on the screen may go out', async () => {
    const orders = shop();
    const { place, edit, is } = await open(orders);
    const net = network();
    net.gone();
    await place();
    await is('offline');
    await edit('coffee');
    await is('idle');
    net.back();
    await place();
    await is('hasSucceeded');
    expect(orders.effects.map(({ data }) => data.note)).toEqual(['coffee']);
  });
});
