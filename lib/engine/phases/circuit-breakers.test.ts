import { afterEach, beforeEach, describe, expect, test, vi } from 'vitest';
import type { Health } from '../../core/circuit-breaker.ts';
import { CircuitBreakers, isCircuitOpen } from './circuit-breakers.ts';

const OPEN_MS = 5000;

/** Says something about the dependency. */
class DependencyFailure extends Error {
  override readonly name = 'DependencyFailure';

  constructor(cause: unknown) {
    super('The call failed without an answer that counts.', { cause });
  }
}

const healthOf = (end: unknown): Health => (end instanceof DependencyFailure ? 'down' : 'up');

/** What is no error of our own is the call's end, whatever it says. */
const isAnswered = (error: Error) => error instanceof DependencyFailure || error.message === 'card declined';

const succeed = async () => 'done';
const failure = async () => {
  throw new DependencyFailure(new Error('connection lost'));
};
const decline = async () => {
  throw new Error('card declined');
};

/** The end of a call: its result, the error that it threw, or that it was never run. */
async function told(
  breakers: CircuitBreakers,
  dependency: string | undefined,
  call: () => Promise<string>,
): Promise<string> {
  let ran = false;
  try {
    const run = async () => {
      ran = true;
      return await call().catch((error): Error => {
        if (isAnswered(error)) return error;
        throw error;
      });
    };
    const end = await breakers.run(dependency, run, healthOf);
    return typeof end === 'string' ? end : end.name;
  } catch (error) {
    if (!isCircuitOpen(error)) return (error as Error).name;
    expect(ran, 'a call that was refused has not begun').toBe(false);
    return 'open';
  }
}

async function repeat(times: number, breakers: CircuitBreakers, call: () => Promise<string>): Promise<string[]> {
  const all: string[] = [];
  for (let i = 0; i < times; i++) all.push(await told(breakers, 'stripe', call));
  return all;
}

describe('circuit breakers', () => {
  beforeEach(() => {
    vi.useFakeTimers();
  });
  afterEach(() => {
    vi.useRealTimers();
  });

  test('P2 opens with the fifth failure in a row, and then runs nothing', async () => {
    const breakers = new CircuitBreakers();
    expect(await repeat(5, breakers, failure)).toEqual(Array(5).fill('DependencyFailure'));
    expect(await repeat(2, breakers, succeed)).toEqual(['open', 'open']);
  });

  test('P2 hands on the failure itself, with what caused it', async () => {
    const cause = new Error('connection lost');
    const call = async () => {
      throw new DependencyFailure(cause);
    };
    await expect(new CircuitBreakers().run('stripe', call, healthOf)).rejects.toMatchObject({
      name: 'DependencyFailure',
      cause,
    });
  });

  test('P2 opens however long the five take: traffic may be low', async () => {
    const breakers = new CircuitBreakers();
    for (let hour = 0; hour < 5; hour++) {
      expect(await repeat(1, breakers, failure)).toEqual(['DependencyFailure']);
      await vi.advanceTimersByTimeAsync(3_600_000);
    }
    // Open since the fifth, and past its time: one call may try, and fails.
    expect(await repeat(2, breakers, failure)).toEqual(['DependencyFailure', 'open']);
  });

  test('P2 a call that goes well begins the count anew', async () => {
    const breakers = new CircuitBreakers();
    for (let i = 0; i < 10; i++) {
      expect(await repeat(4, breakers, failure)).toEqual(Array(4).fill('DependencyFailure'));
      expect(await repeat(1, breakers, succeed)).toEqual(['done']);
    }
  });

  test('P2 what the dependency has answered does not count against it: a declined card says that it is up', async () => {
    const breakers = new CircuitBreakers();
    expect(await repeat(50, breakers, decline)).toEqual(Array(50).fill('Error'));
    await repeat(4, breakers, failure);
    await repeat(1, breakers, decline);
    await repeat(4, breakers, failure);
    expect(await repeat(1, breakers, succeed)).toEqual(['done']);
  });

  test('P2 what says nothing about it neither counts nor clears, and closes no circuit that is being tried', async () => {
    const breakers = new CircuitBreakers();
    const ours = async () => {
      throw new Error('our database is away');
    };
    await repeat(4, breakers, failure);
    expect(await repeat(3, breakers, ours)).toEqual(Array(3).fill('Error'));
    expect(await repeat(2, breakers, failure)).toEqual(['DependencyFailure', 'open']);
    await vi.advanceTimersByTimeAsync(OPEN_MS);
    expect(await repeat(2, breakers, ours)).toEqual(['Error', 'open']);
  });

  test('P2 calls that share a name share it; other names and calls without one go on', async () => {
    const breakers = new CircuitBreakers();
    await repeat(5, breakers, failure);
    expect(await told(breakers, 'stripe', succeed)).toBe('open');
    expect(await told(breakers, 'mail', succeed)).toBe('done');
    expect(await told(breakers, undefined, succeed)).toBe('done');
    expect(await told(new CircuitBreakers(), 'stripe', succeed)).toBe('done');
  });

  test('P2 a call without a dependency is never held back', async () => {
    const breakers = new CircuitBreakers();
    for (let i = 0; i < 20; i++) expect(await told(breakers, undefined, failure)).toBe('DependencyFailure');
    expect(await told(breakers, undefined, succeed)).toBe('done');
  });

  test('P2 after five seconds one call tries it: when it succeeds the circuit is closed', async () => {
    const breakers = new CircuitBreakers();
    await repeat(5, breakers, failure);
    await vi.advanceTimersByTimeAsync(OPEN_MS - 1);
    expect(await repeat(1, breakers, succeed)).toEqual(['open']);
    await vi.advanceTimersByTimeAsync(1);
    expect(await repeat(1, breakers, succeed)).toEqual(['done']);
    // Nothing is held against it: it takes as many failures as the first time.
    expect(await repeat(4, breakers, failure)).toEqual(Array(4).fill('DependencyFailure'));
    expect(await repeat(1, breakers, succeed)).toEqual(['done']);
  });

  test('P2 when that one call fails it is open for another five seconds', async () => {
    const breakers = new CircuitBreakers();
    await repeat(5, breakers, failure);
    await vi.advanceTimersByTimeAsync(OPEN_MS);
    expect(await repeat(2, breakers, failure)).toEqual(['DependencyFailure', 'open']);
    await vi.advanceTimersByTimeAsync(OPEN_MS - 1);
    expect(await repeat(1, breakers, succeed)).toEqual(['open']);
    await vi.advanceTimersByTimeAsync(1);
    expect(await repeat(2, breakers, succeed)).toEqual(['done', 'done']);
  });

  test('P2 a declined card closes it, too: the dependency has answered', async () => {
    const breakers = new CircuitBreakers();
    await repeat(5, breakers, failure);
    await vi.advanceTimersByTimeAsync(OPEN_MS);
    expect(await repeat(1, breakers, decline)).toEqual(['Error']);
    expect(await repeat(2, breakers, succeed)).toEqual(['done', 'done']);
  });

  test('P2 while one call tries it, the others wait for what it learns', async () => {
    const breakers = new CircuitBreakers();
    await repeat(5, breakers, failure);
    await vi.advanceTimersByTimeAsync(OPEN_MS);
    let lose = () => {};
    const trial = told(breakers, 'stripe', async () => {
      await new Promise<void>((resolve) => {
        lose = resolve;
      });
      return failure();
    });
    const calls = vi.fn(succeed);
    const others = [told(breakers, 'stripe', calls), told(breakers, 'stripe', calls)];
    await vi.advanceTimersByTimeAsync(1000);
    expect(calls).not.toHaveBeenCalled();
    lose();
    expect(await trial).toBe('DependencyFailure');
    expect(await Promise.all(others)).toEqual(['open', 'open']);
    expect(calls).not.toHaveBeenCalled();
  });
});
