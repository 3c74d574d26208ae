/** Encodes parameters and decodes results for statements sent to `pg` directly. */

/** Parsers of the kit's columns, whatever the app has told `pg` to make of its own. */
export const parserOf = (oid: number): ((value: string) => unknown) => PARSERS[oid] ?? String;

/**
 * A time as a parameter. As a Date, Prisma sends it without its zone, and a server whose sessions are not in UTC takes it
 * for another time.
 */
export function timestamp(at: Date): string {
  const text = at.toISOString();
  return text.startsWith('+') ? text.replace(/^\+0*/, '') : text; // a year that keys can carry has five digits
}

/** A parameter as text, but for bytes. Each statement says what type its parameters are of. */
export function toWire(value: unknown): string | Buffer | null {
  if (typeof value === 'string') return value;
  if (value === null || value === undefined) return null;
  if (value instanceof Date) return timestamp(value);
  if (value instanceof Uint8Array) return Buffer.from(value.buffer, value.byteOffset, value.byteLength);
  if (Array.isArray(value)) return arrayText(value);
  return String(value);
}

/** An array of texts or numbers, as PostgreSQL writes it. */
const arrayText = (values: readonly unknown[]) =>
  `{${values.map((value) => `"${String(value).replace(/["\\]/g, '\\$&')}"`).join(',')}}`;

const PARSERS: Record<number, (value: string) => unknown> = {
  16: (value) => value === 't',
  20: BigInt,
  17: (value) => new Uint8Array(value.startsWith('\\x') ? Buffer.from(value.slice(2), 'hex') : unescaped(value)),
  21: Number,
  23: Number,
  114: JSON.parse,
  701: Number,
  3802: JSON.parse,
};

/** Bytes as a session with `bytea_output = 'escape'` writes them. */
const unescaped = (value: string) => Buffer.from(value.replace(/\\(\\|[0-7]{3})/g, byteOf), 'latin1');
const byteOf = (_: string, code: string) => (code === '\\' ? code : String.fromCharCode(Number.parseInt(code, 8)));

const TEXT = 0;
const BINARY = 1;
/** Enough for a claim with BEGIN, and for a completion with a small answer. */
const USUAL_SIZE = 1024;

/**
 * Writes messages of PostgreSQL's extended query protocol into one buffer, which is sent at once: `pg` writes each message
 * by itself, which costs as much as what the message says.
 *
 * @see https://www.postgresql.org/docs/current/protocol-message-formats.html
 */
export class WireWriter {
  #bytes = Buffer.allocUnsafe(USUAL_SIZE);
  #length = 0;
  /** Where the length of the message under way is to be written. */
  #start = 0;

  /** @param name of a statement */
  close(name: string): void {
    this.#begin('C').#byte('S').#string(name).#end();
  }

  /** @param name nothing for a statement that is not kept */
  parse(name: string, text: string): void {
    this.#begin('P').#string(name).#string(text).#int16(0).#end();
  }

  /** @param values a text each, bytes, or null */
  bind(name: string, values: readonly (string | Buffer | null)[]): void {
    this.#begin('B').#string('').#string(name).#int16(values.length);
    for (const value of values) this.#int16(Buffer.isBuffer(value) ? BINARY : TEXT);
    this.#int16(values.length);
    for (const value of values) this.#value(value);
    this.#int16(1).#int16(TEXT).#end(); // all columns come as text
  }

  /** Asks for the columns of the portal. */
  describe(): void {
    this.#begin('D').#byte('P').#string('').#end();
  }

  /** Executes the portal to its end. */
  execute(): void {
    this.#begin('E').#string('').#int32(0).#end();
  }

  flush(): void {
    this.#begin('H').#end();
  }

  sync(): void {
    this.#begin('S').#end();
  }

  /** The bytes written so far. */
  get bytes(): Buffer {
    return this.#bytes.subarray(0, this.#length);
  }

  #begin(type: string): this {
    this.#byte(type);
    this.#start = this.#length;
    return this.#int32(0);
  }

  #end(): void {
    this.#bytes.writeInt32BE(this.#length - this.#start, this.#start);
  }

  #byte(letter: string): this {
    this.#reserve(1);
    this.#bytes[this.#length++] = letter.charCodeAt(0);
    return this;
  }

  #int16(value: number): this {
    this.#reserve(2);
    this.#length = this.#bytes.writeInt16BE(value, this.#length);
    return this;
  }

  #int32(value: number): this {
    this.#reserve(4);
    this.#length = this.#bytes.writeInt32BE(value, this.#length);
    return this;
  }

  /** A text and the zero behind it. */
  #string(text: string): this {
    this.#reserve(3 * text.length + 1); // so many bytes has a text in UTF-8 at most
    this.#length += this.#bytes.write(text, this.#length);
    this.#bytes[this.#length++] = 0;
    return this;
  }

  #value(value: string | Buffer | null): void {
    if (value === null) {
      this.#int32(-1);
    } else if (typeof value === 'string') {
      this.#reserve(4 + 3 * value.length);
      const written = this.#bytes.write(value, this.#length + 4);
      this.#int32(written);
      this.#length += written;
    } else {
      this.#int32(value.length).#reserve(value.length);
      this.#length += value.copy(this.#bytes, this.#length);
    }
  }

  #reserve(more: number): void {
    if (this.#length + more <= this.#bytes.length) return;
    const larger = Buffer.allocUnsafe(2 * (this.#length + more));
    this.#bytes.copy(larger, 0, 0, this.#length);
    this.#bytes = larger;
  }
}
