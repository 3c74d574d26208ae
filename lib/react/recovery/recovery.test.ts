import { getEventListeners } from 'node:events';
import { expect, test, vi } from 'vitest';
import { sleep } from '../../core/wait.ts';
import { untilOnline } from './recovery.ts';

test('a wait ends with its time, and leaves no listener behind', async () => {
  const { signal } = new AbortController();
  const added = vi.spyOn(signal, 'addEventListener');
  const removed = vi.spyOn(signal, 'removeEventListener');
  for (let i = 0; i < 3; i++) await sleep(1, signal);
  const listenersOf = (spy: { mock: { calls: unknown[][] } }) => spy.mock.calls.map(([, listener]) => listener);
  expect(listenersOf(added)).toHaveLength(3);
  expect(listenersOf(removed)).toEqual(listenersOf(added));
});

test('a wait ends with its signal', async () => {
  const aborting = new AbortController();
  const wait = sleep(3_600_000, aborting.signal);
  aborting.abort();
  await wait;
});

test('waiting for the network ends with it, with the signal or with its time, and leaves the window alone', async () => {
  vi.useFakeTimers();
  const window = new EventTarget();
  vi.stubGlobal('window', window);
  const aborting = new AbortController();
  const [first, second] = [untilOnline(aborting.signal), untilOnline(new AbortController().signal)];
  expect(getEventListeners(window, 'online')).toHaveLength(2);
  aborting.abort();
  await first;
  expect(getEventListeners(window, 'online')).toHaveLength(1);
  window.dispatchEvent(new Event('online'));
  await second;
  expect(getEventListeners(window, 'online')).toHaveLength(0);
  const third = untilOnline(new AbortController().signal);
  vi.runAllTimers();
  await third;
  expect(getEventListeners(window, 'online')).toHaveLength(0);
  vi.useRealTimers();
  vi.unstubAllGlobals();
});
