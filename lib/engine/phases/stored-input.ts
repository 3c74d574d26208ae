import { CodedError, ConfigurationError } from '../../core/errors.ts';
import { upcastData } from '../../core/older-data.ts';
import type { StandardSchema } from '../../core/standard-schema.ts';
import type { OperationOptions } from '../definition.ts';
import { parseValue, stringifyValue } from '../stored-value.ts';

/** The input of a run, for later runs, which have the key and its steps besides. */
interface StoredInput {
  input: unknown;
  context: readonly unknown[];
  /** Of a route's request. Inputs of before do not say, and an older kit passes over it. */
  method?: string | undefined;
}

type Versions = Pick<OperationOptions<StandardSchema, never>, 'inputVersion' | 'inputUpcasts'>;

/** @throws ConfigurationError for what cannot be stored: files, class instances, functions. Phases may go on without the client */
export function encodeInput({ input, context, method }: StoredInput, { inputVersion = 1 }: Versions): string {
  return stringifyValue({ version: inputVersion, input, context, ...(method && { method }) }, 'input', '.input');
}

/**
 * Reads a stored input, led to this deploy's version.
 *
 * @throws CodedError `unavailable` for one of a newer deploy: another instance will know (R3)
 * @throws ConfigurationError where an upcast is missing
 */
export function decodeInput(text: string, { inputVersion = 1, inputUpcasts = {} }: Versions): StoredInput {
  const { version, ...stored } = parseValue(text) as StoredInput & { version: number };
  if (version > inputVersion) {
    const facts = { existing: version, expected: `at most ${inputVersion}` };
    throw new CodedError('unavailable', 'The input was stored by a newer version of this operation.', facts);
  }
  const input = upcastData(stored.input, { from: version, to: inputVersion, upcasts: inputUpcasts }, (from, thrown) => {
    if (thrown) return thrown.cause;
    const words = 'An unfinished key has an older input, which no upcast leads to this version.';
    const expected = `inputUpcasts[${from}], which leads to ${from + 1}`;
    return new ConfigurationError(words, { existing: from, expected });
  });
  return { ...stored, input };
}
