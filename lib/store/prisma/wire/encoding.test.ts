import fc from 'fast-check';
import { serialize } from 'pg-protocol';
import { expect, test } from 'vitest';
import { WireWriter } from './encoding.ts';

const name = fc.stringMatching(/^[a-z0-9_]{0,20}$/);
const value = fc.oneof(
  fc.constant(null),
  fc.string({ unit: 'binary' }).map((text) => text.toWellFormed()),
  fc.uint8Array({ maxLength: 3000 }).map((bytes) => Buffer.from(bytes)),
);

/** Has one written, and says what it should be. */
const WRITERS = {
  close(writer: WireWriter, { name }: { name: string }) {
    writer.close(name);
    return serialize.close({ type: 'S', name });
  },
  parse(writer: WireWriter, { name, text }: { name: string; text: string }) {
    writer.parse(name, text);
    return serialize.parse({ name, text });
  },
  bind(writer: WireWriter, { name, values }: { name: string; values: (string | Buffer | null)[] }) {
    writer.bind(name, values);
    return serialize.bind({ statement: name, values });
  },
  describe(writer: WireWriter) {
    writer.describe();
    return serialize.describe({ type: 'P' });
  },
  execute(writer: WireWriter) {
    writer.execute();
    return serialize.execute({});
  },
  flush(writer: WireWriter) {
    writer.flush();
    return serialize.flush();
  },
  sync(writer: WireWriter) {
    writer.sync();
    return serialize.sync();
  },
};

test('each message is what pg writes for it, whatever came before it', () => {
  const message = fc.oneof(
    fc.record({ type: fc.constant('close' as const), name }),
    fc.record({ type: fc.constant('parse' as const), name, text: fc.string({ maxLength: 3000 }) }),
    fc.record({ type: fc.constant('bind' as const), name, values: fc.array(value) }),
    fc.record({ type: fc.constantFrom('describe' as const, 'execute' as const, 'flush' as const, 'sync' as const) }),
  );
  const property = fc.property(fc.array(message, { minLength: 1 }), (messages) => {
    const writer = new WireWriter();
    const expected = messages.map((one) => WRITERS[one.type](writer, one as never));
    expect(writer.bytes.toString('hex')).toBe(Buffer.concat(expected as Buffer[]).toString('hex'));
  });
  fc.assert(property, { numRuns: 300 });
});
