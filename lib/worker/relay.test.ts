import { expect, test, vi } from 'vitest';
import { WakeSignal } from './relay.ts';

const HOUR = 3_600_000;
const forever = new AbortController().signal;

test('a ring ends one of the waits that are under way, the next one another, and none that comes later', async () => {
  const wake = new WakeSignal();
  const ended = vi.fn();
  const waits = [wake.wait(HOUR, forever).then(ended), wake.wait(HOUR, forever).then(ended)];
  wake.send();
  await Promise.race(waits);
  await new Promise(setImmediate);
  expect(ended).toHaveBeenCalledTimes(1);
  wake.send();
  await Promise.all(waits);
  const stopping = new AbortController();
  const later = wake.wait(HOUR, stopping.signal).then(ended);
  await new Promise(setImmediate);
  expect(ended).toHaveBeenCalledTimes(2);
  stopping.abort();
  await later;
});

test('a ring while nobody waits ends the next wait, and only that one', async () => {
  const wake = new WakeSignal();
  wake.send();
  wake.send();
  await wake.wait(HOUR, forever);
  const ended = vi.fn();
  void wake.wait(HOUR, forever).then(ended);
  await new Promise(setImmediate);
  expect(ended).not.toHaveBeenCalled();
  wake.send();
});

test('a wait ends by itself, and leaves nothing behind on the signal', async () => {
  const { signal } = new AbortController();
  const [add, remove] = [vi.spyOn(signal, 'addEventListener'), vi.spyOn(signal, 'removeEventListener')];
  await new WakeSignal().wait(1, signal);
  expect(remove.mock.calls[0]).toEqual(add.mock.calls[0]);
});
