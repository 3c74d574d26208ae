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
