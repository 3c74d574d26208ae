import 'next/dist/server/node-environment-baseline.js'; // gives Next's own modules what they store a request in
import { workAsyncStorage } from 'next/dist/server/app-render/work-async-storage.external.js';
import { expect, test } from 'vitest';
import { ConfigurationError } from '../core/errors.ts';
import { issueKey } from './issue-key.ts';

const operation = { name: 'sign', mintKey: async () => 'a key' } as Parameters<typeof issueKey>[0];

/** Next's own connection() and headers(), in the state in which Next calls a page. Real builds: e2e/shared-keys.e2e.ts. */
const onPage = (store: object) =>
  workAsyncStorage.run({ route: '/sign', ...store } as Parameters<typeof workAsyncStorage.run>[0], () =>
    issueKey(operation),
  );

test('no key for a page that is forced to be static: everybody would have the same', async () => {
  const refusal = onPage({ forceStatic: true });
  await expect(refusal).rejects.toThrow(ConfigurationError);
  await expect(refusal).rejects.toThrow(/everybody would get the same key of sign/);
});

test('nor for one that must not be dynamic, nor outside of a request', async () => {
  await expect(onPage({ dynamicShouldError: true })).rejects.toThrow('because it used `connection()`');
  await expect(issueKey(operation)).rejects.toThrow('outside a request scope');
});
