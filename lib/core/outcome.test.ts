import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, test } from 'vitest';
import { executedBy, proofOfCall, refuse } from './outcome.ts';

describe('executed', () => {
  test.each([
    ['minted', false],
    ['said_first', false],
    ['rolled_back', false],
    ['tombstone', false],
    ['answer', true],
    ['none', 'unknown'],
  ] as const)('%s proves: %j', (proof, executed) => {
    expect(executedBy(proof)).toBe(executed);
  });

  test('is not known where a refusal is made of nothing', () => {
    expect(refuse('internal').executed).toBe('unknown');
  });

  test.each([
    [{}, 'none'],
    [{ attempt: undefined }, 'none'],
    [{ attempt: 0 }, 'none'],
    [{ attempt: Number.NaN }, 'none'],
    [{ attempt: 1 }, 'said_first'],
    [{ attempt: 2 }, 'none'],
    [{ attempt: '1' as never }, 'none'],
    [{ keyless: true }, 'minted'],
    [{ keyless: true, attempt: 2 }, 'minted'],
  ])('a call with %j proves: %s', (call, proof) => {
    expect(proofOfCall(call)).toBe(proof);
  });

  test('A1 is said by nothing but a proof: no other code of the kit and the demo writes the flag down', () => {
    const files = ['lib', 'shop', 'app', 'components'].flatMap((folder) =>
      readdirSync(folder, { recursive: true, encoding: 'utf8' })
        .filter(
          (name) =>
            /\.tsx?$/.test(name) && !/\.(test|test-d|testsuite|fixture|child)\.|browser\.test|generated/.test(name),
        )
        .map((name) => join(folder, name)),
    );
    expect(files.length).toBeGreaterThan(300);
    const literal = files.filter((file) => /\bexecuted:\s*(false|true)\b(?!\s*\|)/.test(readFileSync(file, 'utf8')));
    expect(literal).toEqual([]);
  });
});
