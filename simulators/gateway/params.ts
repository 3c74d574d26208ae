import { createHash } from 'node:crypto';
import { invalid } from './stripe-error.ts';

const MAX_METADATA = { keys: 50, key: 40, value: 500 };

/** A request's parameters, form-encoded as Stripe's clients send them. Unknown ones are left alone. */
export class Params {
  #values: URLSearchParams;

  constructor(query: string, body: string) {
    this.#values = new URLSearchParams([query, body].filter(Boolean).join('&'));
  }

  /** Same parameters, same fingerprint, whatever their order. */
  get fingerprint(): string {
    const pairs = [...this.#values].map((pair) => JSON.stringify(pair)).sort();
    return createHash('sha256').update(pairs.join()).digest('hex');
  }

  /** An empty value is none, as in Stripe's API. */
  text(name: string): string | undefined {
    return this.#values.get(name) || undefined;
  }

  required(name: string): string {
    const value = this.text(name);
    if (value === undefined) throw invalid(`Missing required param: ${name}.`, name, 'parameter_missing');
    return value;
  }

  flag(name: string): boolean {
    const value = this.text(name) ?? 'false';
    if (value !== 'true' && value !== 'false') throw invalid(`Invalid boolean: ${value}`, name);
    return value === 'true';
  }

  integer(name: string, range: { min: number; max: number }): number | undefined {
    return this.text(name) === undefined ? undefined : this.requiredInteger(name, range);
  }

  requiredInteger(name: string, { min, max }: { min: number; max: number }): number {
    const value = this.required(name);
    if (!/^-?\d+$/.test(value)) throw invalid(`Invalid integer: ${value}`, name, 'parameter_invalid_integer');
    const number = Number(value);
    if (number < min) {
      throw invalid(`This value must be greater than or equal to ${min}.`, name, 'parameter_invalid_integer');
    }
    if (number > max) {
      throw invalid(`This value must be less than or equal to ${max}.`, name, 'parameter_invalid_integer');
    }
    return number;
  }

  oneOf<T extends string>(name: string, allowed: readonly T[]): T | undefined {
    const value = this.text(name);
    if (value === undefined || allowed.includes(value as T)) return value as T | undefined;
    throw invalid(`Invalid ${name}: must be one of ${allowed.join(', ')}`, name);
  }

  metadata(): Record<string, string> {
    const pairs = [...this.#values].flatMap(([name, value]) => {
      const key = /^metadata\[(.+)\]$/s.exec(name)?.[1];
      return key === undefined || value === '' ? [] : [[key, value] as const];
    });
    const metadata = Object.fromEntries(pairs);
    if (Object.keys(metadata).length > MAX_METADATA.keys) {
      throw invalid(`Metadata can have at most ${MAX_METADATA.keys} keys.`, 'metadata');
    }
    for (const [key, value] of pairs) {
      if (key.length > MAX_METADATA.key) {
        throw invalid(`Metadata keys can have at most ${MAX_METADATA.key} characters.`, 'metadata');
      }
      if (value.length > MAX_METADATA.value) {
        throw invalid(`Metadata values can have up to ${MAX_METADATA.value} characters.`, `metadata[${key}]`);
      }
    }
    return metadata;
  }
}
