import { Socket } from 'node:net';
import { PrismaPg as PlainPg } from '@prisma/adapter-pg';
import { PrismaPg } from 'oncekit/adapter-pg';
import pg from 'pg';
import { type Client, createClient } from '../../../shop/db.ts';

/** Clients of random handlers, on connections that are lost around COMMIT where a statement has said so. */

export interface Way {
  isPlain: boolean;
  client: Client;
  /** On a pool of its own. */
  other: Client;
  kill: (pid: number) => Promise<unknown>;
  close: () => Promise<unknown>;
}

/** What is lost with its connection: COMMIT, or the answer to it. */
export type Loss = 'COMMIT' | 'its answer';

/** Everything at which a process can be killed: between two steps, before something is sent, before an answer is read. */
export type Moment = 'step' | 'sent' | 'answered' | Loss;

/** The statement that announces a loss on the connection that it is sent on. */
export const announcing = (loss: Loss) => `SELECT 1 /* loses ${loss} */`;

const ANNOUNCED = /\/\* loses (COMMIT|its answer) \*\//;
/** The end of a statement is a NUL: without it `COMMIT` would be found in `BEGIN ISOLATION LEVEL READ COMMITTED`. */
const COMMIT = 'COMMIT\0';

/** A connection of theirs: it looks at what is sent, and drops what was announced as lost. */
class FaultySocket extends Socket {
  #loses: Loss | undefined;
  #isCommitting = false;
  readonly #onMoment: (moment: Moment) => void;

  constructor(onMoment: (moment: Moment) => void) {
    super();
    this.#onMoment = onMoment;
  }

  // Not `write`: a socket puts Node's own in its place where it connects.
  override _write(bytes: Buffer, encoding: BufferEncoding, done: (error?: Error | null) => void): void {
    const text = bytes.toString('latin1');
    if (text.includes('BEGIN')) this.#loses = undefined; // that was for the transaction before
    this.#loses = (ANNOUNCED.exec(text)?.[1] as Loss | undefined) ?? this.#loses;
    this.#isCommitting = text.includes(COMMIT);
    this.#onMoment(this.#isCommitting ? 'COMMIT' : 'sent');
    if (this.#isCommitting && this.#loses === 'COMMIT') {
      this.destroy();
      done();
    } else {
      super._write(bytes, encoding, done);
    }
  }

  override _writev(chunks: { chunk: Buffer }[], done: (error?: Error | null) => void): void {
    this._write(Buffer.concat(chunks.map(({ chunk }) => chunk)), 'buffer' as BufferEncoding, done);
  }

  override push(bytes: Buffer | null): boolean {
    if (bytes) this.#onMoment(this.#isCommitting ? 'its answer' : 'answered');
    if (bytes && this.#isCommitting && this.#loses === 'its answer') {
      this.destroy();
      return false;
    }
    return super.push(bytes);
  }
}

/** Clients of one kind of pool. `onMoment` hears of everything that goes over their connections. */
export function wayOn(
  url: string,
  {
    isPlain,
    max,
    kill,
    onMoment = () => {},
  }: {
    isPlain: boolean;
    max: number;
    kill: Way['kill'];
    onMoment?: (moment: Moment) => void;
  },
): Way {
  const Adapter = isPlain ? PlainPg : PrismaPg;
  const make = () => {
    const pool = new pg.Pool({ connectionString: url, max, stream: () => new FaultySocket(onMoment) });
    const adapter = new Adapter(pool, { disposeExternalPool: true });
    // Half of the time would go into finding the lines of code from which failing queries came.
    return createClient(url, { adapter, errorFormat: 'minimal' } as object);
  };
  const [client, other] = [make(), make()];
  return { isPlain, client, other, kill, close: () => Promise.all([client.$disconnect(), other.$disconnect()]) };
}
