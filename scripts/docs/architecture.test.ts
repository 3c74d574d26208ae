import { readFileSync } from 'node:fs';
import { expect, test } from 'vitest';

const LOOK = /\[`(\w+)`\]\(([\w./-]+\.tsx?)\)/g;

test('what the table "Where to look" of ARCHITECTURE.md names is declared where it says', () => {
  const places = [...readFileSync('ARCHITECTURE.md', 'utf8').matchAll(LOOK)];
  expect(places.length).toBeGreaterThan(30);
  const wrong = places.filter(([, symbol, file = '']) => {
    const declared = new RegExp(`^(export )?(async )?(function\\*?|const|class) ${symbol}\\b`, 'm');
    return !declared.test(readFileSync(file, 'utf8'));
  });
  expect(wrong.map(([link]) => link)).toEqual([]);
});
