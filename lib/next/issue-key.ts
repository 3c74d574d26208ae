import { headers } from 'next/headers.js';
import { connection } from 'next/server.js';
import { ConfigurationError } from '../core/errors.ts';
import { issuedText } from '../core/issued-key.ts';
import type { Operation } from '../engine/operation.ts';

/**
 * A fresh key for a form, minted and signed for the person who asks for the page. Makes the page dynamic: a page that is
 * rendered once for everybody would give everybody the same key. Where a page cannot be dynamic, the build fails:
 * by Next's own error inside `use cache` and `unstable_cache`, by a ConfigurationError under `force-static`.
 *
 * @returns the key; of an operation with `volatile` with those names behind it, for the form. Send it in a form's field or to the
 *   action. For a header of your own take `operation.mintKey()`
 */
export async function issueKey<Input, Result, Reason extends string>(
  operation: Operation<Input, Result, Reason>,
): Promise<string> {
  await connection();
  await refuseForceStatic(operation.name);
  const key = await operation.mintKey();
  if (key !== null) return issuedText(key, operation.volatile);
  throw new ConfigurationError(`Nobody acts here, so there is nobody to issue a key of ${operation.name} to.`, {
    existing: 'scope() returned null',
    expected: 'a principal; send people who are not signed in elsewhere before the form is rendered',
  });
}

/**
 * Under `force-static`, `connection()` does nothing and `headers()` is empty (Next's request/connection.js and
 * request/headers.js), so that nothing else would stop one key from landing in everybody's HTML. A request has headers.
 */
async function refuseForceStatic(operation: string): Promise<void> {
  const { done: isEmpty } = (await headers()).keys().next();
  if (!isEmpty) return;
  throw new ConfigurationError(
    `This page is rendered once for everybody, so everybody would get the same key of ${operation}. Remove \`dynamic = 'force-static'\` from it, or from the layout above it that says so.`,
    { existing: 'a rendering without a request', expected: 'one rendering for each request' },
  );
}
