import { isPlainObject } from '../../core/data.ts';
import { tryOr } from '../../core/errors.ts';
import { printable } from '../../core/printable.ts';
import { nameOf } from '../../core/scope.ts';
import type { NamedKey } from '../../engine/phases/lost-key.ts';
import { CliError } from '../command.ts';

const FIELDS = ['operation', 'tenant', 'principal', 'key', 'payload', 'form', 'context', 'result'];

/**
 * The keys of a file of JSON lines in UTF-8, each once.
 *
 * @param tenant of lines that name none
 * @throws CliError with the number of the first line that is none, and what is wrong with it; never with what it says
 */
export function readNamedKeys(file: string, bytes: Uint8Array, tenant: string | undefined): NamedKey[] {
  const seen = new Map<string, number>();
  const keys = textOf(file, bytes)
    .split('\n')
    .flatMap((line, at) => {
      if (line.trim() === '') return [];
      const bad = (what: string, fix: string) => new CliError(`${file}, line ${at + 1}: ${what}`, fix);
      const key = namedKey(line, tenant, bad);
      const earlier = seen.get(nameOf(key));
      if (earlier !== undefined) throw bad(`it names the same key as line ${earlier}.`, 'Remove one of them.');
      seen.set(nameOf(key), at + 1);
      return key;
    });
  if (keys.length === 0) throw new CliError(`${file} names no keys.`, 'Write one JSON object a line.');
  return keys;
}

/** Read in another encoding, `é` of a name would be another character, and a key would be entered for nobody. */
function textOf(file: string, bytes: Uint8Array): string {
  const text = tryOr(() => new TextDecoder('utf-8', { fatal: true }).decode(bytes));
  if (text !== undefined) return text;
  throw new CliError(`${file} is not in UTF-8.`, `If it is in latin1: iconv -f latin1 -t utf-8 ${file} > <a new file>`);
}

type Bad = (what: string, fix: string) => CliError;

function namedKey(line: string, tenant: string | undefined, bad: Bad): NamedKey {
  const given = parsed(line, bad);
  const unknown = Object.keys(given).find((name) => !FIELDS.includes(name));
  if (unknown !== undefined) throw bad(`there is no field "${printable(unknown)}".`, `It knows ${FIELDS.join(', ')}.`);
  const text = (name: 'operation' | 'tenant' | 'principal' | 'key', fallback?: string) => {
    const value = given[name] ?? fallback;
    if (typeof value === 'string' && /^[^\0]{1,255}$/su.test(value) && value.isWellFormed()) return value;
    const more = name === 'tenant' ? ', or say --tenant <name> for all lines' : '';
    throw bad(`it has no ${name} of 1 to 255 characters.`, `Add "${name}": "…"${more}.`);
  };
  const { payload, form, context, result } = given;
  if (payload !== undefined && form !== undefined) {
    throw bad('it has a payload and a form.', 'A form’s fields go under "form", anything else under "payload".');
  }
  if (context !== undefined && !Array.isArray(context)) {
    throw bad('its context is no list.', 'Of a route write "context": ["/api/orders"], its path.');
  }
  return {
    operation: text('operation'),
    tenant: text('tenant', tenant),
    principal: text('principal'),
    key: text('key'),
    payload: form === undefined ? payload : formData(form, bad),
    context,
    result: 'result' in given ? { data: result } : undefined,
  };
}

function parsed(line: string, bad: Bad): Record<string, unknown> {
  // Without the parser's error: it quotes what it could not read.
  const value: unknown = tryOr(() => JSON.parse(line));
  if (isPlainObject(value)) return value;
  throw bad(
    'it is no JSON object.',
    'Write {"operation": "…", "principal": "…", "key": "…", "payload": …} in one line.',
  );
}

function formData(fields: unknown, bad: Bad): FormData {
  const form = new FormData();
  for (const [name, value] of Object.entries(isPlainObject(fields) ? fields : { '': undefined })) {
    for (const each of [value].flat()) {
      if (typeof each === 'string') form.append(name, each);
      else throw bad('its form is no object of texts.', 'Write "form": {"sku": "mug", "size": ["s", "m"]}.');
    }
  }
  return form;
}
