import { expect, test } from 'vitest';
import { safeNext } from './next-path.ts';

test.each(['/', '/checkout?cart=1', '/lab#with'])('goes on to %s', (path) => {
  expect(safeNext(path)).toBe(path);
});

test.each([
  'https://evil.example',
  '//evil.example',
  '/\\evil.example',
  '/\t/evil.example',
  'lab',
  '',
  null,
  '/..//evil.example',
])('does not follow %j', (path) => {
  expect(new URL(safeNext(path), 'http://shop.example').host).toBe('shop.example');
});
