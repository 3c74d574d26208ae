import { connection } from 'next/server.js';
import { ConfigurationError } from '../core/errors.ts';
import type { Operation } from '../engine/operation.ts';

/**
 * A fresh key for a form, minted and signed for whoever asks for the page. Makes the page dynamic: a page that is
 * rendered once for everybody would give everybody the same key (B1).
 */
export async function issueKey<Input, Result>(operation: Operation<Input, Result>): Promise<string> {
  await connection();
  const key = await operation.mintKey();
  if (key !== null) return key;
  throw new ConfigurationError(`Nobody acts here, so there is nobody to issue a key of ${operation.name} to.`, {
    existing: 'scope() returned null',
    expected: 'a principal; send people who are not signed in elsewhere before the form is rendered',
  });
}
