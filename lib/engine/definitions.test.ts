import { setImmediate as nextTurn } from 'node:timers/promises';
import { afterEach, describe, expect, test, vi } from 'vitest';
import { z } from 'zod';
import { ConfigurationError } from '../core/errors.ts';
import type { Options } from './config.ts';
import { idempotencyOn } from './idempotency.ts';

afterEach(() => void vi.unstubAllEnvs());

const schema = z.object({});

/** Defines operations on one instance. No store is asked: all of it is set-up. */
function defining(options: Options = {}) {
  const { operation } = idempotencyOn({} as never, options);
  return {
    one: (name: string, work = async () => 'A') => operation({ name, schema }).handler(work),
    phased: (name: string) => operation({ name, schema }).phases(async () => 'B'),
  };
}

test.each([0, -1, 1.5, Number.NaN, Number.POSITIVE_INFINITY, '5' as never])(
  'X4 maxItems of %s is no limit',
  (maxItems) => {
    const { operation } = idempotencyOn({} as never, {});
    expect(() => operation({ name: 'import', schema, maxItems })).toThrow(ConfigurationError);
  },
);

test('F1 volatile is a name or a list of names, and nothing else', () => {
  const { operation } = idempotencyOn({} as never, {});
  const named = (name: string, volatile: unknown) => operation({ name, schema, volatile: volatile as string[] });
  for (const no of [true, 1, {}, '', [''], ['stamp', 1], null]) {
    expect(() => named('import', no)).toThrow(ConfigurationError);
  }
  const told = [undefined, 'stamp', ['stamp', 'sent'], []].map(
    (yes, n) => named(`o${n}`, yes).handler(async () => 1).volatile,
  );
  expect(told).toEqual([[], ['stamp'], ['stamp', 'sent'], []]);
  expect(
    named('one', ['stamp'])
      .handler(async () => 1)
      .as('other').volatile,
  ).toEqual(['stamp']);
});

test('an option of handler and phases that nobody reads is refused, by the name of what it was meant to be', () => {
  const { operation } = idempotencyOn({} as never, {});
  const misspelt = { redirectTO: () => '/' } as object;
  const { handler, phases } = operation({ name: 'pay', schema });
  expect(() => handler(async () => 1, misspelt)).toThrow(/handler of pay has no option `redirectTO`.*`redirectTo`/);
  expect(() => phases(async () => 1, misspelt)).toThrow(/phases of pay has no option/);
});

describe('K4 two operations of one name', () => {
  test.each<[string, (on: ReturnType<typeof defining>) => unknown]>([
    ['another handler', ({ one }) => one('pay', async () => 'B')],
    ['phases', ({ phased }) => phased('pay')],
    ['another one that is renamed to it', ({ one }) => one('refund', async () => 'B').as('pay')],
  ])('%s is refused where it is defined, by its name', (_, second) => {
    const on = defining();
    on.one('pay');
    expect(() => second(on)).toThrow(ConfigurationError);
    expect(() => second(defining())).not.toThrow();
  });

  test('the words name it, and say what to do', () => {
    const { one, phased } = defining();
    phased('pay');
    expect(() => one('pay')).toThrow(/two operations of the name pay.*Rename one.*redefine: true/);
  });

  test('the same work under one more name is an operation of its own, however often it is said', () => {
    const pay = defining().one('pay');
    expect([pay.as('api.pay').name, pay.as('api.pay').name, pay.as('pay').name]).toEqual(['api.pay', 'api.pay', 'pay']);
  });

  test('another instance has names of its own', () => {
    defining().one('pay');
    expect(() => defining().one('pay')).not.toThrow();
  });

  test('development defines anew what was edited; nothing else does unless it is said', async () => {
    vi.stubEnv('NODE_ENV', 'development');
    const inDevelopment = defining();
    const strict = defining({ redefine: false });
    vi.stubEnv('NODE_ENV', 'production');
    for (const on of [inDevelopment, strict, defining(), defining({ redefine: true })]) on.one('pay');
    await nextTurn(); // an edit comes later than the first evaluation
    const again = (on: ReturnType<typeof defining>) => () => on.one('pay', async () => 'edited');
    expect(again(inDevelopment)).not.toThrow();
    expect(again(strict)).toThrow(ConfigurationError);
  });

  test('development refuses two that one evaluation defines, and takes one module that two bundles evaluate', async () => {
    vi.stubEnv('NODE_ENV', 'development');
    const on = defining();
    const module = () => on.one('pay', async () => 'A');
    module();
    expect(module).not.toThrow();
    expect(() => on.one('pay', async () => 'B')).toThrow(/two operations of the name pay/);
    expect(() => on.phased('pay')).toThrow(ConfigurationError);
    await nextTurn();
    on.phased('refund');
    expect(() => on.one('refund')).toThrow(ConfigurationError);
    expect(() => on.one('pay', async () => 'edited')).not.toThrow();
  });

  test('an instance that several evaluations share says so', () => {
    const on = defining({ redefine: true });
    on.one('pay');
    expect(() => on.one('pay')).not.toThrow();
  });
});
