import { afterEach, describe, expect, test, vi } from 'vitest';
import { z } from 'zod';
import { ConfigurationError, createIdempotency } from '../index.ts';
import { cronRoute, routeHandler, serverAction, statusRoute } from '../next/index.ts';

afterEach(() => {
  vi.unstubAllEnvs();
  vi.restoreAllMocks();
});

const schema = z.object({});
const never = async () => {
  throw new Error('no database is asked');
};
const prisma = { $transaction: never, $queryRawUnsafe: never };
const secret = 'Vq3-Jt0Lr8_Yd2Wc6Hn1Pz9Xs4Bk7Fe5';
type Options = Partial<Parameters<typeof createIdempotency<typeof prisma>>[0]>;
const kit = (options: Options = {}) => createIdempotency({ prisma, transaction: 'interactive', ...options });
const define = (more: object = {}, options: Options = {}) =>
  kit(options)
    .operation({ name: 'checkout', schema, ...more })
    .handler(async () => 'done');

describe('an option of a name that there is not', () => {
  test.each<[string, () => unknown, string]>([
    ['createIdempotency', () => kit({ secrets: [secret] } as never), 'secret'],
    ['an operation', () => define({ timeout: 1000 }), 'timeoutMs'],
    ['serverAction', () => serverAction(define(), { redirect: () => '/' } as never), 'redirectTo'],
    ['routeHandler', () => routeHandler(define(), { response: () => Response.json(1) } as never), 'respond'],
    ['statusRoute', () => statusRoute([define()], { limits: {} } as never), 'limit'],
    ['its limit', () => statusRoute([define()], { limit: { request: 3 } as never }), 'requests'],
    ['cronRoute', () => cronRoute(kit() as never, { secret, maxMS: 3 } as never), 'maxMs'],
  ])('is refused by %s, which names the nearest one', (_, setUp, nearest) => {
    expect(setUp).toThrow(ConfigurationError);
    expect(setUp).toThrow(new RegExp(`so it would do nothing\\. Write \`${nearest}\``));
  });
});

describe('one name where a list of names is due', () => {
  test('is a list of one: secret, with commas between several', async () => {
    const scope = () => ({ principal: 'ann' });
    const second = `${'x'.repeat(16)}${'y'.repeat(16)}`;
    expect(await define({}, { secret, scope }).mintKey()).toMatch(/./);
    const key = await define({}, { secret: second, scope }).mintKey();
    const onError = vi.fn();
    const both = define({}, { secret: `${secret}, ${second}`, scope, onError });
    // Signed by the second, so it gets as far as the database.
    expect(await both.execute({ key, payload: {} })).toMatchObject({ code: expect.not.stringMatching('key_invalid') });
    expect(onError.mock.calls).toMatchObject([[{ message: 'no database is asked' }, { operation: 'checkout' }]]);
    expect(() => kit({ secret: 'short' })).toThrow(/Secret number 1 is too short/);
  });

  test('sensitive', async () => {
    const payload = new FormData();
    payload.set('note', 'private');
    payload.set('no', 'shown');
    const asked = define({ sensitive: 'note' }, { scope: () => ({ principal: 'ann' }) });
    expect(await asked.execute({ key: '', payload })).toMatchObject({ values: { no: 'shown' } });
    expect(await asked.execute({ key: '', payload })).not.toHaveProperty('values.note');
  });

  test('headers of a route', () => {
    expect(() => routeHandler(define(), { headers: 'x-total' })).not.toThrow();
    expect(() => routeHandler(define(), { headers: 'set-cookie' })).toThrow(/never sets a cookie/);
  });
});

describe('who acts', () => {
  const asked = (who: unknown) => define({}, { scope: () => who as never }).mintKey();

  test.each([
    ['no principal', { tenant: 'acme' }],
    ['an undefined one', { tenant: 'acme', principal: undefined }],
    ['a number', { principal: 7 }],
    ['a name alone', 'ann'],
  ])('%s is refused, and what to return said', async (_, who) => {
    await expect(asked(who)).rejects.toThrow(/The scope's principal cannot be used\. Let `scope` return \{ principal/);
  });

  test('a tenant that is there and undefined is no default', async () => {
    await expect(asked({ tenant: undefined, principal: 'ann' })).rejects.toThrow(
      /leave `tenant` out where there is only/,
    );
  });

  test('no function is refused where the kit is set up', () => {
    expect(() => kit({ scope: { principal: 'ann' } as never })).toThrow(/`scope` is no function/);
  });

  test('nothing returned is nobody, which development says once', async () => {
    const said = vi.spyOn(console, 'warn').mockReturnValue();
    await asked(undefined);
    expect(said).not.toHaveBeenCalled();
    vi.stubEnv('NODE_ENV', 'development');
    const forgetful = define({}, { scope: () => undefined as never });
    expect([await forgetful.mintKey(), await forgetful.mintKey()]).toEqual([null, null]);
    expect(await forgetful.execute({ key: 'k', payload: {} })).toMatchObject({ code: 'unauthorized' });
    await asked(null);
    expect(said.mock.calls).toEqual([[expect.stringMatching(/returned undefined.*Is a `return` missing/)]]);
  });
});

test('an operation without a schema is refused where it is defined', () => {
  expect(() => define({ schema: undefined })).toThrow(/checkout has no schema/);
});
