import { isInternalField } from '../../core/fields.ts';
import { isVolatile } from '../../core/volatile.ts';
import type { Submitted } from '../submission/context.ts';
import { fieldsOf } from './error-summary.tsx'; // pages may load that one first, without this

/**
 * Writes down what would be sent. Left out is what changes by itself: the kit's fields and React's, the place where a picture
 * was clicked, and the fields that are volatile. Of a form a person sees the fields that are not hidden, of values from code all.
 *
 * @returns `seen`: as far as a person can see it; `pressed`: the button, which stands apart
 */
export function writeDown({ values, element, button }: Submitted, volatile: readonly string[]) {
  const isForm = values instanceof FormData;
  const prefix = button?.name ? `${button.name}.` : '';
  const points = `${button?.type}` === 'image' ? [`${prefix}x`, `${prefix}y`] : [];
  const entries: [string, unknown][] = (isForm ? [...values] : Object.entries(values)).filter(
    ([name, value]) =>
      value !== undefined && !isInternalField(name) && !isVolatile(name, volatile) && !points.includes(name),
  );
  entries.sort(byName);
  // Once: a page may disable the button meanwhile, and it is sent no more.
  const own = entries.findIndex(([name, value]) => name === button?.name && value === button.value);
  if (own >= 0) entries.splice(own, 1);
  const names = element && new Set<unknown>(fieldsOf(element).map((field) => field.getAttribute('name')));
  return {
    seen: JSON.stringify(names ? entries.filter(([name]) => names.has(name)) : entries, asText),
    all: JSON.stringify(entries, asText),
    pressed: button?.name ? JSON.stringify([button.name, button.value]) : '',
  };
}

/** How long a file is waited for. */
const READ_MS = 1000;

/** True where a file among these values is gone, or has changed since it was chosen: no browser sends it any more. */
export async function hasUnreadableFile(value: unknown): Promise<boolean> {
  if (value instanceof Blob) {
    // Of a slice Chromium says that it is empty where the file is gone. Simulated browsers have no streams.
    const reader = value.stream?.().getReader();
    // A disk behind a network may say nothing.
    const first = await Promise.race([reader?.read().catch(() => null), new Promise((go) => setTimeout(go, READ_MS))]);
    void reader?.cancel().catch(() => {});
    return first === null;
  }
  const parts =
    value instanceof FormData ? value.values() : typeof value === 'object' ? Object.values(value ?? {}) : [];
  return (await Promise.all([...parts].map(hasUnreadableFile))).includes(true);
}

const byName = ([one]: [string, unknown], [other]: [string, unknown]) => (one < other ? -1 : +(one > other));

/** What has no name and time, such as a picture from a canvas, is the same if it is the same object. */
const nameless = new WeakMap<Blob, number>();
let count = 0;

/** Writes what JSON has no text for, or not one for each. Files by what can be told of them without reading. */
function asText(this: unknown, name: string, value: unknown): unknown {
  const raw = (this as Record<string, unknown>)[name];
  if (raw instanceof File) return raw.size || raw.name ? [raw.name, raw.size, raw.type, raw.lastModified] : ''; // a new one each time
  if (raw instanceof Blob) {
    if (!nameless.has(raw)) nameless.set(raw, ++count);
    return { '': nameless.get(raw) };
  }
  const isGap = raw === undefined && Array.isArray(this); // elsewhere it is not there
  if (isGap || raw instanceof Date || typeof raw === 'bigint' || Number.isNaN(raw))
    return { '': `${typeof raw} ${raw}` };
  const isObject = typeof value === 'object' && value !== null && !Array.isArray(value);
  return isObject ? Object.fromEntries(Object.entries(value).sort(byName)) : value;
}
