/** Counts what passes between a client and a PostgreSQL on one connection, by reading the protocol's messages. */
export interface WireCounts {
  /** The text of every statement that was executed, BEGIN and COMMIT included, in the order they were sent. */
  statements: string[];
  /** How often the server was idle again: each a transaction, of one statement or of many. */
  transactions: number;
}

/** @returns what to hand the bytes of either direction to */
export function wireReader(counts: WireCounts) {
  const named = new Map<string, string>();
  let bound = '';
  const fromClient = messages(true, (type, body) => {
    const [first = '', second = ''] = texts(body);
    if (type === 'P') named.set(first, second);
    else if (type === 'B') bound = named.get(second) ?? '';
    else if (type === 'E') counts.statements.push(bound);
    else if (type === 'Q') counts.statements.push(first);
  });
  const fromServer = messages(false, (type, body) => {
    if (type === 'Z' && body.toString('latin1') === 'I') counts.transactions++;
  });
  return { fromClient, fromServer };
}

/** The texts, each ended by a zero, that a message begins with. */
function texts(body: Buffer): string[] {
  return body.toString('utf8').split('\0', 2);
}

/**
 * Puts packets together to messages: a letter, a length and a body; only a connection's first message has no letter.
 *
 * @see https://www.postgresql.org/docs/current/protocol-message-formats.html
 */
function messages(isClient: boolean, each: (type: string, body: Buffer) => void): (data: Buffer) => void {
  let rest: Buffer = Buffer.alloc(0);
  let letters = isClient ? 0 : 1;
  return (data) => {
    rest = Buffer.concat([rest, data]);
    while (rest.length >= letters + 4) {
      const end = letters + rest.readInt32BE(letters);
      if (rest.length < end) return;
      if (letters > 0) each(rest.toString('latin1', 0, 1), rest.subarray(letters + 4, end));
      rest = rest.subarray(end);
      letters = 1;
    }
  };
}
