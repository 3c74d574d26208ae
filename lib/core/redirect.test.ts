import { forbidden, notFound, permanentRedirect, redirect } from 'next/navigation.js';
import { describe, expect, test } from 'vitest';
import { isControlFlow, redirectOf } from './redirect.ts';

const thrownWith = (digest: unknown) => Object.assign(new Error('x'), { digest });

function thrownBy(act: () => unknown): unknown {
  try {
    act();
  } catch (thrown) {
    return thrown;
  }
  throw new Error('nothing was thrown');
}

describe('R2 redirect', () => {
  test.each(['/orders/1', 'https://shop.example/a?b=c#d', '/a;b;c', '/a;307;', ';', '/ü?q=;;'])(
    "R2 Next's own redirect to %s is read in full",
    (url) => {
      expect(redirectOf(thrownBy(() => redirect(url, 'push' as never)))).toEqual({ url, type: 'push', status: 307 });
      expect(redirectOf(thrownBy(() => permanentRedirect(url, 'replace' as never)))).toEqual({
        url,
        type: 'replace',
        status: 308,
      });
    },
  );

  test.each([
    ['a plain object', { digest: 'NEXT_REDIRECT;replace;/a;303;' }, { url: '/a', type: 'replace', status: 303 }],
    [
      'semicolons in the URL',
      thrownWith('NEXT_REDIRECT;push;/a;b;c;303;'),
      { url: '/a;b;c', type: 'push', status: 303 },
    ],
  ])('R2 is read from %s', (_, thrown, expected) => {
    expect(redirectOf(thrown)).toEqual(expected);
  });

  test.each([
    ['no digest', new Error('x')],
    ['a digest that is no string', thrownWith(7)],
    ['another digest', thrownWith('NEXT_HTTP_ERROR_FALLBACK;404')],
    ['a name that only begins alike', thrownWith('NEXT_REDIRECTED;push;/a;307;')],
    ['an unknown type', thrownWith('NEXT_REDIRECT;jump;/a;307;')],
    ['no URL', thrownWith('NEXT_REDIRECT;push;;307;')],
    ['no status', thrownWith('NEXT_REDIRECT;push;/a;')],
    ['a status that is no number', thrownWith('NEXT_REDIRECT;push;/a;soon;')],
    ['null', null],
    ['undefined', undefined],
    ['a string', 'NEXT_REDIRECT;push;/a;307;'],
  ])('R2 is not seen in %s', (_, thrown) => {
    expect(redirectOf(thrown)).toBeUndefined();
  });

  test('R2 notFound and forbidden steer Next, an error with a digest of its own does not', () => {
    process.env.__NEXT_EXPERIMENTAL_AUTH_INTERRUPTS = 'true';
    expect(isControlFlow(thrownBy(notFound))).toBe(true);
    expect(isControlFlow(thrownBy(forbidden))).toBe(true);
    expect(isControlFlow(thrownBy(() => redirect('/a')))).toBe(true);
    expect(isControlFlow(thrownWith('1234567'))).toBe(false);
    expect(isControlFlow(new Error('NEXT_'))).toBe(false);
    expect(isControlFlow(null)).toBe(false);
  });
});
