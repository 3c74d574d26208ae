import { describe, expect, test } from 'vitest';
import { WaitingSlots } from './waiting.ts';

const isLocked = (result: string) => result === 'locked';

/** Answers `locked` at once, and holds every patient try until it is released. */
function holder() {
  const patient: { waitMs: number; release: (result: string) => void; fail: (error: unknown) => void }[] = [];
  const waits: number[] = [];
  const attempt = (waitMs: number) => {
    waits.push(waitMs);
    if (waitMs === 0) return Promise.resolve('locked');
    return new Promise<string>((release, fail) => patient.push({ waitMs, release, fail }));
  };
  return { attempt, patient, waits };
}

/** Lets everything run that can run without the outside. */
const settled = () => new Promise((resolve) => setImmediate(resolve));

describe('C5 slots for waiting', () => {
  test('C5 what is not locked is tried once, without waiting', async () => {
    const waits: number[] = [];
    const slots = new WaitingSlots(10);
    const attempt = async (waitMs: number) => `done ${waits.push(waitMs)}`;
    expect(await slots.patiently(1000, attempt, isLocked)).toBe('done 1');
    expect(waits).toEqual([0]);
  });

  test.each([
    [1, 1],
    [4, 1],
    [5, 1],
    [10, 2],
    [100, 20],
  ])('C5 of a pool of %d at most %d wait, the others are told at once', async (poolSize, most) => {
    const slots = new WaitingSlots(poolSize);
    const { attempt, patient } = holder();
    const calls = Array.from({ length: most + 3 }, () => slots.patiently(1000, attempt, isLocked));
    await settled();
    expect(patient).toHaveLength(most);
    expect(await Promise.all(calls.slice(most))).toEqual(['locked', 'locked', 'locked']);
    for (const { release } of patient) release('existing');
    expect(await Promise.all(calls.slice(0, most))).toEqual(Array(most).fill('existing'));
  });

  test.each([0, -5])('C3 waitMs %d never waits', async (waitMs) => {
    const { attempt, waits } = holder();
    expect(await new WaitingSlots(10).patiently(waitMs, attempt, isLocked)).toBe('locked');
    expect(waits).toEqual([0]);
  });

  test('C5 the second try has the whole wait', async () => {
    const { attempt, patient } = holder();
    const call = new WaitingSlots(10).patiently(700, attempt, isLocked);
    await settled();
    expect(patient[0]?.waitMs).toBe(700);
    patient[0]?.release('locked');
    expect(await call).toBe('locked');
  });

  test.each(['answers', 'throws'])('C5 a slot is free again when its try %s', async (how) => {
    const slots = new WaitingSlots(5);
    const { attempt, patient } = holder();
    for (let i = 0; i < 3; i++) {
      const call = slots.patiently(1000, attempt, isLocked);
      await settled();
      expect(patient).toHaveLength(i + 1);
      if (how === 'answers') patient[i]?.release('existing');
      else patient[i]?.fail(new Error('gone'));
      await call.catch(() => {});
    }
  });
});
