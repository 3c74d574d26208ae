import { expect, test, vi } from 'vitest';
import { loop } from './loop.ts';

type LoopOptions = Parameters<typeof loop>[0];

/** A loop without a clock: `waits` are the waits it asked for, and it is stopped in wait number `passes`. */
async function run(passes: number, pass: LoopOptions['pass'], options: Partial<LoopOptions> = {}) {
  const stopping = new AbortController();
  const waits: number[] = [];
  const log: string[] = [];
  await loop({
    name: 'The completer',
    everyMs: 1000,
    pass,
    stopping: stopping.signal,
    log: (line) => log.push(line),
    random: () => 0.5,
    wait: async (ms) => {
      if (waits.push(ms) === passes) stopping.abort();
    },
    ...options,
  });
  return { waits, log };
}

const down = () => Promise.reject(Object.assign(new Error(''), { code: 'ECONNREFUSED' }));

test('runs a pass, waits, and runs the next one', async () => {
  const pass = vi.fn(async () => {});
  expect(await run(3, pass)).toEqual({ waits: [1000, 1000, 1000], log: [] });
  expect(pass).toHaveBeenCalledTimes(3);
});

test('waits a quarter less to a quarter more, so that workers fall out of step', async () => {
  expect((await run(1, async () => {}, { random: () => 0 })).waits).toEqual([750]);
  expect((await run(1, async () => {}, { random: () => 1 })).waits).toEqual([1250]);
});

test('an outage is logged once, asked about ever less often, and its end is logged', async () => {
  const pass = vi.fn(async () => {});
  for (let n = 0; n < 5; n++) pass.mockImplementationOnce(down);
  expect(await run(6, pass)).toEqual({
    waits: [2000, 4000, 5000, 5000, 5000, 1000],
    log: ['The completer fails and is tried again until it works: ECONNREFUSED', 'The completer works again.'],
  });
});

test('a second outage is logged, too', async () => {
  const pass = vi.fn(async () => {});
  pass.mockImplementationOnce(down).mockImplementationOnce(async () => {});
  pass.mockImplementationOnce(() => Promise.reject(new Error('\nInvalid call:\n\n\nNobody answers\n')));
  const { log } = await run(4, pass);
  expect(log).toHaveLength(4);
  expect(log[2]).toBe('The completer fails and is tried again until it works: Nobody answers');
});

test('a rare task waits its own time after a failure, and one that must not slow down does not', async () => {
  expect((await run(2, down, { everyMs: 60_000 })).waits).toEqual([60_000, 60_000]);
  expect((await run(2, down, { capMs: 1000 })).waits).toEqual([1000, 1000]);
});

test('a long pass that says it works ends the outage before it ends itself', async () => {
  const told: number[] = [];
  const log: string[] = [];
  const pass = vi.fn<LoopOptions['pass']>(down).mockImplementationOnce(down);
  pass.mockImplementationOnce(down).mockImplementationOnce(async (works) => {
    works();
    told.push(log.length);
  });
  await run(3, pass, { log: (line) => log.push(line) });
  expect(told).toEqual([2]);
});

test('stopping ends a wait at once, and what it broke off is no outage', async () => {
  const stopping = new AbortController();
  const log = vi.fn();
  let passes = 0;
  const pass = async () => {
    passes++;
    setImmediate(() => stopping.abort());
  };
  // An hour would outlast the test.
  await loop({ name: 'It', everyMs: 3_600_000, pass, stopping: stopping.signal, log });
  expect(passes).toBe(1);

  const again = new AbortController();
  const broken = async () => {
    again.abort();
    throw new Error('broken off');
  };
  await loop({ name: 'It', everyMs: 1, pass: broken, stopping: again.signal, log });
  expect(log).not.toHaveBeenCalled();
});

test('a long pass does not hold up the others; an outage of all is still one line', async () => {
  const stopping = new AbortController();
  const log: string[] = [];
  let passes = 0;
  // The first pass ends only when the other one of the two at once has made ten.
  let release = () => {};
  const released = new Promise<void>((resolve) => {
    release = resolve;
  });
  const pass = async () => {
    passes++;
    if (passes === 1) await released;
    if (passes === 10) release();
    if (passes < 20) return;
    if (passes === 30) stopping.abort();
    await down();
  };
  const wait = () => new Promise<void>((resolve) => setImmediate(resolve));
  const base = { name: 'The completer', everyMs: 1, concurrentPasses: 2, stopping: stopping.signal };
  await loop({ ...base, pass, wait, log: (line) => log.push(line) });
  expect(log).toEqual(['The completer fails and is tried again until it works: ECONNREFUSED']);
});

test('a pass that takes longer than the rhythm does not keep the next one waiting, and is waited for at the end', async () => {
  const stopping = new AbortController();
  let release = () => {};
  const released = new Promise<void>((resolve) => {
    release = resolve;
  });
  let passes = 0;
  let hasEnded = false;
  const pass = async () => {
    if (++passes > 1) return passes === 3 ? stopping.abort() : undefined;
    await released;
    hasEnded = true;
  };
  const running = loop({
    name: 'The completer',
    everyMs: 1,
    overlaps: true,
    pass,
    stopping: stopping.signal,
    log: () => {},
  });
  await vi.waitFor(() => expect(stopping.signal.aborted).toBe(true));
  expect(hasEnded).toBe(false);
  release();
  await running;
  expect(hasEnded).toBe(true);
});
