/** What `pg` is told and tells where we speak to it without Prisma. */

/** How results are read: ours, whatever the app has told `pg` to make of its own columns. */
export const TYPES = {
  getTypeParser(oid: number): (value: string) => unknown {
    return PARSERS[oid] ?? asIs;
  },
};

const asIs = (value: string) => value;

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
