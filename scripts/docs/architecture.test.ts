import { readdirSync, readFileSync } from 'node:fs';
import path from 'node:path';
import { expect, test } from 'vitest';

const MAP = readFileSync('ARCHITECTURE.md', 'utf8');
const LOOK = /\[`(\w+)`\]\(([\w./-]+\.tsx?)\)/g;

test('what the table "Where to look" of ARCHITECTURE.md names is declared where it says', () => {
  const places = [...MAP.matchAll(LOOK)];
  expect(places.length).toBeGreaterThan(30);
  const wrong = places.filter(([, symbol, file = '']) => {
    const declared = new RegExp(`^(export )?(async |abstract )?(function\\*?|const|class) ${symbol}\\b`, 'm');
    return !declared.test(readFileSync(file, 'utf8'));
  });
  expect(wrong.map(([link]) => link)).toEqual([]);
});

test('the functions and classes that its three ways name are in the code', () => {
  const ways = MAP.slice(MAP.indexOf('## The way of one submit'), MAP.indexOf('## States of a key'));
  const names = new Set(Array.from(ways.matchAll(/`([A-Za-z]\w*[a-z][A-Z]\w*)`/g), ([, name = '']) => name));
  expect(names.size).toBeGreaterThan(20);
  const sources = readdirSync('lib', { recursive: true, encoding: 'utf8' })
    .filter((name) => /\.tsx?$/.test(name) && !/\.(test|fixture|child)\./.test(name))
    .map((name) => readFileSync(path.join('lib', name), 'utf8'));
  const text = sources.join('\n');
  const lost = [...names].filter(
    (name) => !new RegExp(`(function\\*?|const|class|readonly|^) ${name}\\b|\\b${name}[?:]`, 'm').test(text),
  );
  expect(lost).toEqual([]);
});

test('each of the three ways is told in less than fifteen lines, and what is read before the tables takes ten minutes', () => {
  for (const [, steps = ''] of MAP.matchAll(/^## The way of [^\n]+\n\n([\s\S]+?)\n\n/gm)) {
    expect(steps.split('\n').length).toBeLessThan(15);
  }
  expect([...MAP.matchAll(/^## The way of/gm)]).toHaveLength(3);
  const [read = '', tables = ''] = MAP.split('\n## Where to look\n');
  expect(read.split(/\s+/).length).toBeLessThan(2000);
  // A row is found by its question, not read from the first one on.
  const rows = tables.split('\n').filter((line) => line.startsWith('| '));
  expect(rows.length).toBeGreaterThan(60);
  expect(rows.filter((row) => row.split(/\s+/).length > 40)).toEqual([]);
});
