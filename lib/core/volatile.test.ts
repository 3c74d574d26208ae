import { expect, test } from 'vitest';
import { isVolatile } from './volatile.ts';

test.each([
  [
    'g-recaptcha-response',
    'h-captcha-response',
    'cf-turnstile-response',
    'frc-captcha-solution',
    'frc-captcha-response',
  ],
  ['altcha', 'cap-token', 'mcaptcha__token', 'mtcaptcha-verifiedtoken', 'fc-token'],
  ['geetest_challenge', 'geetest_validate', 'geetest_seccode'],
  ['csrf', '_csrf', 'csrf_token', 'csrf-token', 'csrfToken', '_csrf_token', '_csrfToken', '_xsrf', 'xsrf_token'],
  ['csrfmiddlewaretoken', 'authenticity_token', '__RequestVerificationToken', '_token'],
])('%s, %s and their like change by themselves', (...names) => {
  expect(names.filter((name) => !isVolatile(name, []))).toEqual([]);
});

test.each([
  'token',
  'captcha',
  'my_token',
  'csrf_tokens',
  'coupon',
  'altcha2',
  'x-csrf',
  'g-recaptcha',
  'lines[0]._csrf',
  '',
])('%s may be what a person means', (name) => expect(isVolatile(name, [])).toBe(false));

test('F1 an operation names more, each with all that lies behind it, and nothing that only begins alike', () => {
  const names = ['stamp', 'stamp[]', 'stamp[0]', 'stamp.sent', 'stamp[sent].at', 'a.b', '_csrf[0]'];
  expect(names.filter((name) => !isVolatile(name, ['stamp', 'a.b']))).toEqual([]);
  for (const name of ['stamps', 'Stamp', 'a', 'a.c', 'x.stamp', '[stamp]', '']) {
    expect(isVolatile(name, ['stamp', 'a.b'])).toBe(false);
  }
});
