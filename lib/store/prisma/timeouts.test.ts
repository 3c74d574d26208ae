import { once } from 'node:events';
import { Worker } from 'node:worker_threads';
import { expect, onTestFinished, test, vi } from 'vitest';
import { PATIENCE_MS } from '../../../scripts/testing/patience.ts';
import { skipTime } from '../../integration/skip-time.fixture.ts';
import { withTimeout } from './timeouts.ts';

test('what answers in time is passed on, a rejection too', async () => {
  expect(await withTimeout(Promise.resolve('answer'), 10_000)).toBe('answer');
  await expect(withTimeout(Promise.reject(new Error('no')), 10_000)).rejects.toThrow('no');
});

test('what has answered is late no more', async () => {
  const lateness = vi.fn(() => new Error('late'));
  await withTimeout(Promise.resolve('answer'), 5, lateness);
  await expect(withTimeout(new Promise(() => {}), 50)).rejects.toThrow('did not answer'); // the time of both is over
  expect(lateness).not.toHaveBeenCalled();
});

test('silence ends in an error that says so', async () => {
  await expect(withTimeout(new Promise(() => {}), 5)).rejects.toThrow('did not answer within 5 ms');
});

test('so it does in a process that is late all the time', async () => {
  const { now } = performance;
  let lateMs = 0;
  performance.now = () => {
    lateMs += 50;
    return now.call(performance) + lateMs;
  };
  onTestFinished(() => void Object.assign(performance, { now }));
  await expect(withTimeout(new Promise(() => {}), 200)).rejects.toThrow('did not answer within 200 ms');
});

/** Answers, and says in the memory that it shares that it has. */
const ANSWERING = `
const { parentPort, workerData } = require('node:worker_threads');
parentPort.once('message', () => {
  parentPort.postMessage('answer');
  Atomics.store(workerData, 0, 1);
  Atomics.notify(workerData, 0);
});`;

test('A3 an answer that has come while the process stood still counts, although its time is over', async () => {
  const hasAnswered = new Int32Array(new SharedArrayBuffer(4));
  const worker = new Worker(ANSWERING, { eval: true, workerData: hasAnswered });
  await new Promise(setImmediate); // behind this come timers, and then what has arrived
  const answer = withTimeout(once(worker, 'message'), 10_000);
  worker.postMessage('question');
  expect(Atomics.wait(hasAnswered, 0, 0, PATIENCE_MS)).not.toBe('timed-out');
  Atomics.wait(hasAnswered, 0, 1, 50); // the timer that looks is due
  skipTime(20_000);
  expect(await answer).toEqual(['answer']);
  await worker.terminate();
});
