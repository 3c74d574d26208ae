import { closeSync, fsyncSync, ftruncateSync, mkdirSync, openSync, readFileSync, writeSync } from 'node:fs';
import { dirname } from 'node:path';

/**
 * An append-only file of JSON lines. A line that `append` returned for is on the disk, whole, and every later `open`
 * returns it; a line that `append` did not return for is there whole or not at all.
 *
 * It blocks on purpose: looking, deciding and writing then are one turn of the event loop, and no two requests can
 * refund the same money between them.
 */
export class Journal {
  #file: number;
  #size: number;

  private constructor(file: number, size: number) {
    this.#file = file;
    this.#size = size;
  }

  /** Throws a sentence when a line in the middle is no JSON: that is no torn write, and guessing would lose money. */
  static open(path: string): { journal: Journal; lines: unknown[] } {
    mkdirSync(dirname(path), { recursive: true });
    const file = openSync(path, 'a+');
    try {
      const bytes = readFileSync(path);
      // What follows the last newline was being written when the process died. Nobody was told about it.
      const size = bytes.lastIndexOf('\n') + 1;
      if (size < bytes.length) ftruncateSync(file, size);
      fsyncSync(file);
      syncFolder(dirname(path));
      const texts = bytes.subarray(0, size).toString().split('\n').slice(0, -1);
      return { journal: new Journal(file, size), lines: texts.map((text, index) => parse(text, path, index + 1)) };
    } catch (error) {
      closeSync(file);
      throw error;
    }
  }

  append(line: unknown): void {
    const bytes = Buffer.from(`${JSON.stringify(line)}\n`);
    try {
      for (let done = 0; done < bytes.length; ) done += writeSync(this.#file, bytes, done);
      fsyncSync(this.#file);
    } catch (error) {
      // A full disk may have taken half of it; the next line must not be glued to that half.
      ftruncateSync(this.#file, this.#size);
      throw error;
    }
    this.#size += bytes.length;
  }

  close(): void {
    const file = this.#file;
    // Its number may soon be another file's, and a request that ends late must not write there.
    this.#file = -1;
    closeSync(file);
  }
}

function parse(text: string, path: string, number: number): unknown {
  try {
    return JSON.parse(text);
  } catch {
    throw new Error(`Line ${number} of ${path} is damaged. Repair it, or move the file away to start an empty ledger.`);
  }
}

/** Without it a power cut may leave a file that no folder names. */
function syncFolder(path: string): void {
  const folder = openSync(path, 'r');
  try {
    fsyncSync(folder);
  } finally {
    closeSync(folder);
  }
}
