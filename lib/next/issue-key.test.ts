import 'next/dist/server/node-environment-baseline.js'; // gives Next's own modules what they store a request in
import { workAsyncStorage } from 'next/dist/server/app-render/work-async-storage.external.js';
import { workUnitAsyncStorage } from 'next/dist/server/app-render/work-unit-async-storage.external.js';
import { expect, test } from 'vitest';
import { ConfigurationError } from '../core/errors.ts';
import { issueKey } from './issue-key.ts';

const operationWith = (volatile: readonly string[]) =>
  ({ name: 'sign', mintKey: async () => 'a-key', volatile }) as unknown as Parameters<typeof issueKey>[0];

/** Next's own connection() and headers(), in the state in which Next calls a page. Real builds: e2e/shared-keys.e2e.ts. */
const onPage = (store: object, operation = operationWith([])) =>
  workAsyncStorage.run({ route: '/sign', ...store } as Parameters<typeof workAsyncStorage.run>[0], () =>
    issueKey(operation),
  );

/** While a page is rendered for a request. */
const forRequest = (operation: Parameters<typeof issueKey>[0]) => {
  const request = { type: 'request', phase: 'render', headers: new Headers({ host: 'localhost' }) };
  return workUnitAsyncStorage.run(request as never, () => onPage({}, operation));
};

test('a key, and behind it the names that are volatile in the operation, encoded, each behind a space', async () => {
  expect(await forRequest(operationWith([]))).toBe('a-key');
  expect(await forRequest(operationWith(['stamp', 'sent at']))).toBe('a-key stamp sent%20at');
});

test('no key for a page that is forced to be static: everybody would have the same', async () => {
  const refusal = onPage({ forceStatic: true });
  await expect(refusal).rejects.toThrow(ConfigurationError);
  await expect(refusal).rejects.toThrow(/everybody would get the same key of sign/);
});

test('nor for one that must not be dynamic, nor outside of a request', async () => {
  await expect(onPage({ dynamicShouldError: true })).rejects.toThrow('because it used `connection()`');
  await expect(issueKey(operationWith([]))).rejects.toThrow('outside a request scope');
});
