import { describe, expect, test } from 'vitest';
import { enteredValues } from './execution.ts';

function form(...fields: [string, string | File][]): FormData {
  const data = new FormData();
  for (const [name, value] of fields) data.append(name, value);
  return data;
}

describe('entered values', () => {
  test.each([undefined, null, 'a', { get: 1 }])('there are none in %j, with which an action was called', (sent) => {
    expect(enteredValues(sent as never)).toEqual({});
  });

  test('are given back by name; several of one name as a list, in order', () => {
    const values = enteredValues(form(['name', 'Ann'], ['tag', 'a'], ['tag', 'b'], ['tag', 'c'], ['note', '']));
    expect(values).toEqual({ name: 'Ann', tag: ['a', 'b', 'c'], note: '' });
  });

  test.each([
    'password',
    'newPassword',
    'PASSWORD',
    'passphrase',
    'passcode',
    'client_secret',
    'api_token',
    'csrfToken',
    'cvc',
    'card_cvv',
    'cardNumber',
    'card_number',
    'card-number',
    'pin',
    'iban',
    'ssn',
  ])('%s looks secret and is left out', (name) => {
    expect(enteredValues(form([name, 'x'], ['city', 'Ulm']))).toEqual({ city: 'Ulm' });
  });

  test.each(['shipping', 'opinion', 'spinach', 'compass', 'card_holder', 'discard', 'email'])(
    '%s is no secret',
    (name) => {
      expect(enteredValues(form([name, 'x']))).toEqual({ [name]: 'x' });
    },
  );

  test('declared fields are left out too', () => {
    expect(enteredValues(form(['diagnosis', 'x'], ['city', 'Ulm']), ['diagnosis'])).toEqual({ city: 'Ulm' });
  });

  test("the kit's and Next's own fields and files are left out", () => {
    const data = form(
      ['idempotency_key', 'k'],
      ['idempotency_attempt', '2'],
      ['$ACTION_ID_1', ''],
      ['f', new File([''], 'a')],
    );
    expect(enteredValues(data)).toEqual({});
  });

  test('a field called __proto__ is a field', () => {
    expect(Object.keys(enteredValues(form(['__proto__', 'x'])))).toEqual(['__proto__']);
  });
});
