import { BadPayloadError } from '../core/errors.ts';
import { MAX_FIELDS } from '../core/payload-limits.ts';

/**
 * JSON that has one meaning (F1). `JSON.parse` keeps the last of two members of one name, and another reader the
 * first: such a text is refused, and so is one that is no JSON.
 *
 * @throws BadPayloadError `malformed_body`
 */
export function parseStrictJson(text: string): unknown {
  let value: unknown;
  try {
    value = JSON.parse(text);
  } catch {
    // Without the parser's error: it quotes what it could not read.
    throw new BadPayloadError('malformed_body', 'The body is not valid JSON.', { expected: 'JSON' });
  }
  assertOneMeaning(text);
  return value;
}

const MAX_DEPTH = 100;

/** Strings whole, and what opens, closes and separates. Numbers, words and white space do not matter here. */
const TOKENS = /"[^"\\]*(?:\\.[^"\\]*)*"|[{}[\],:]/g;

/** Reads valid JSON once more, for what `JSON.parse` does not say. Names count as they read, whatever their escapes. */
function assertOneMeaning(text: string): void {
  const open: (Set<string> | null)[] = []; // the names of each open object; null for an array
  let last = '';
  for (const [token] of text.matchAll(TOKENS)) {
    if (token === '{') open.push(new Set());
    else if (token === '[') open.push(null);
    else if (token === '}' || token === ']') open.pop();
    else if (token === ':') count(open.at(-1) ?? new Set(), JSON.parse(last));
    if (open.length > MAX_DEPTH) throw refused('The JSON is nested too deeply.', 'deeper', `${MAX_DEPTH} levels`);
    last = token;
  }
}

function count(names: Set<string>, name: string): void {
  if (names.has(name)) {
    const words = 'A name comes twice in one JSON object, and readers differ in which of them counts.';
    throw refused(words, name, 'each name once');
  }
  names.add(name);
  if (names.size > MAX_FIELDS) throw refused('A JSON object has too many names.', 'more', `at most ${MAX_FIELDS}`);
}

function refused(words: string, existing: unknown, expected: string): BadPayloadError {
  return new BadPayloadError('malformed_body', words, { existing, expected });
}
