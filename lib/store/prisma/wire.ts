/** What `pg` is told and tells where we speak to it without Prisma. */

/** How a column of this type is read: ours, whatever the app has told `pg` to make of its own columns. */
export const parserOf = (oid: number): ((value: string) => unknown) => PARSERS[oid] ?? asIs;

const asIs = (value: string) => value;

/** A parameter as text, but for bytes. Each statement says what type its parameters are of. */
export function toWire(value: unknown): string | Buffer | null {
  if (typeof value === 'string') return value;
  if (value === null || value === undefined) return null;
  if (value instanceof Date) return value.toISOString().replace(/^\+0*/, ''); // a year that keys can carry has five digits
  if (value instanceof Uint8Array) return Buffer.from(value.buffer, value.byteOffset, value.byteLength);
  return String(value);
}

const PARSERS: Record<number, (value: string) => unknown> = {
  16: (value) => value === 't',
  17: (value) => new Uint8Array(Buffer.from(value.slice(2), 'hex')),
  21: Number,
  23: Number,
  701: Number,
  1184: (value) => new Date(value.replace(' ', 'T').replace(/([+-]\d\d)$/, '$1:00')),
};

/** The error of a statement that was sent without Prisma, in the shape that PrismaPg gives it: it is read in one place. */
export class DriverError extends Error {
  override readonly name = 'DriverAdapterError';
  override readonly cause: { originalCode?: string; kind: string };

  constructor(message: string, cause: DriverError['cause']) {
    super(message);
    this.cause = cause;
  }

  /** The server's own word, and not the connection's end. */
  get isAnswer(): boolean {
    return this.cause.originalCode !== undefined;
  }
}

export function driverError(error: unknown): DriverError {
  const { message, severity, code } = error as { message?: unknown; severity?: unknown; code?: unknown };
  // Whatever is not the server's own word is the connection's end.
  const isAnswer = typeof severity === 'string' && typeof code === 'string';
  return new DriverError(
    String(message),
    isAnswer ? { originalCode: code, kind: 'postgres' } : { kind: 'ConnectionClosed' },
  );
}
