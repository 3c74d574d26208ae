import type { AsyncContext } from '../async-context.ts';
import type { ClientLike, PoolLike } from './driver.ts';

/** A statement that changes rows: its command and its table. */
const WRITE =
  /^(?:\s|--[^\n]*\n|\/\*[\s\S]*?\*\/)*(?:with\b[\s\S]*?\b(?<!\bfor\s+(?:no\s+key\s+)?))?(insert\s+into|update|delete\s+from|merge\s+into|truncate(?:\s+table)?)\s+((?:only\s+)?[\w."]+)/i;

/** The executions of which it has been said. */
const told = new Set<string>();

/**
 * Says once for each operation that its handler has written past its transaction: through the global client, on a connection of
 * its own, where it is committed whatever becomes of the handler. In development alone, where `execution` is there.
 */
export function watchStatement({ execution }: AsyncContext, pool: PoolLike, config: unknown): void {
  if (!execution || execution.isOver || execution.pool !== pool || told.has(execution.name)) return;
  const text = typeof config === 'string' ? config : (config as { text?: unknown } | undefined)?.text;
  const [, command, table] = (typeof text === 'string' && WRITE.exec(text)) || [];
  if (!command) return;
  told.add(execution.name);
  console.warn(
    `[oncekit] In ${execution.name}, ${command.toUpperCase()} ${table} went past the transaction, through the global client: it is committed at once, and stays when the rest is rolled back or done again. Write \`tx\` in place of the client; or outside(() => …) around it where that is meant.`,
  );
}

/** The executions that have connections of the pool's, which statements of theirs go past. */
const watched = new WeakMap<ClientLike, { context: AsyncContext; pool: PoolLike }>();

/** Watches what is sent on a connection until it is given back: a transaction of Prisma's within a handler. */
export function watchConnection(context: AsyncContext, pool: PoolLike, client: ClientLike): void {
  if (!watched.has(client)) {
    const { query } = client;
    client.query = function (this: unknown, ...args: never[]) {
      const by = watched.get(client);
      if (by) watchStatement(by.context, by.pool, args[0]);
      return query.apply(this as ClientLike, args);
    };
  }
  watched.set(client, { context, pool });
}

/** The connection is given back: what comes next on it is another's. */
export function endWatch(client: ClientLike): void {
  if (watched.has(client)) watched.set(client, NOBODYS);
}

const NOBODYS = { context: {}, pool: {} as PoolLike };
