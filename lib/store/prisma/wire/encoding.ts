/** Encodes parameters and decodes results for statements sent to `pg` directly. */

/** Parsers of the kit's columns, whatever the app has told `pg` to make of its own. */
export const parserOf = (oid: number): ((value: string) => unknown) => PARSERS[oid] ?? asIs;

const asIs = (value: string) => value;

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
  1184: (value) => new Date(value.replace(' ', 'T').replace(/([+-]\d\d)$/, '$1:00')),
};

/** Bytes as a session with `bytea_output = 'escape'` writes them. */
const unescaped = (value: string) =>
  Buffer.from(
    value.replace(/\\(\\|[0-7]{3})/g, (_, code) =>
      code === '\\' ? code : String.fromCharCode(Number.parseInt(code, 8)),
    ),
    'latin1',
  );

/** The error of a statement that was sent without Prisma, in the shape that PrismaPg gives it: it is read in one place. */
class DriverError extends Error {
  override readonly name = 'DriverAdapterError';
  override readonly cause: { originalCode?: string; severity?: string; kind: string };

  constructor(message: string, cause: DriverError['cause']) {
    super(message);
    this.cause = cause;
  }
}

/** Tells whether it came over the wire, and is not the connection's end. A pooler words the end of its own in such a way, too. */
export function isAnswer(error: unknown): error is object & { severity: string; code: string; message: string } {
  const { severity, code } = (error ?? {}) as { severity?: unknown; code?: unknown };
  return typeof severity === 'string' && typeof code === 'string';
}

/** As the server refuses a write where it takes none. */
export const readOnlyError = (words = 'cannot execute INSERT in a read-only transaction') =>
  new DriverError(words, { originalCode: '25006', kind: 'postgres' });

export function driverError(error: unknown): DriverError {
  if (!isAnswer(error)) {
    return new DriverError(String((error as { message?: unknown } | null)?.message), { kind: 'ConnectionClosed' });
  }
  const { code, severity, message } = error;
  return new DriverError(message, { originalCode: code, severity, kind: 'postgres' });
}
