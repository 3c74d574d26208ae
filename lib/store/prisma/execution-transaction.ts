import { warnOnce } from '../../core/environment.ts';
import { ExecutionClosedError, IdempotencyError } from '../../core/errors.ts';
import { moment } from '../../core/wait.ts';
import {
  type AsyncContext,
  type ContextTransaction,
  type OwnContextTransaction,
  type PrismaTransaction,
  runInContext,
} from './async-context.ts';

/**
 * How long what a handler has left behind is refused where it was rolled back, in milliseconds: the next attempt would do it
 * again. No request lives longer; what does is no part of one, such as the interval of a writer that was first used in it.
 */
const LEFT_MS = 5 * 60_000;

/** A query of a `tx` that Prisma has made, and sends once it is awaited. */
type MadeQuery = Parameters<ContextTransaction['made']>[0];

/** The transaction of an execution, or a savepoint in it: what the code that runs in it may ask, and what it leaves behind. */
export abstract class ExecutionTransaction implements ContextTransaction {
  abstract readonly own: OwnContextTransaction | undefined;
  abstract holds(of: PrismaTransaction | undefined): boolean;
  /** The context of the code that runs in it. */
  readonly context: AsyncContext = { transaction: this };
  readonly txContext: AsyncContext = { transaction: this, isByTx: true };
  readonly client: object;
  readonly #outer: ExecutionTransaction | undefined;
  /** The transaction itself, of a savepoint as well. */
  readonly #root: ExecutionTransaction;
  #isOver = false;
  /** Whether it is known to be committed, of the root; false as well where that is not known. There once it has ended. */
  #isCommitted: boolean | undefined;
  /** When the root's code has come back, by `performance.now()`. */
  #leftAt = Number.POSITIVE_INFINITY;
  #ending: ReturnType<typeof moment> | undefined;
  /** It is a savepoint that was rolled back to. */
  #isUndone = false;
  /** Queries of its `tx` that have been sent and are not answered, wherever they are between Prisma and the server. */
  readonly #sent = new Set<Promise<unknown>>();
  /** There while a nested one is open. Never rejects. */
  protected nested: Promise<void> | undefined;
  /** Queries of its `tx` that nobody has sent. */
  readonly #made = new Set<MadeQuery>();

  /**
   * @param client its owner, under all its extensions
   * @param outer what it is a savepoint in
   */
  constructor(client: object, outer?: ExecutionTransaction) {
    this.client = client;
    this.#outer = outer;
    this.#root = outer ? outer.#root : this;
  }

  get ending(): Promise<void> | undefined {
    const root = this.#root;
    if (!root.#isOver || root.#isCommitted !== undefined) return undefined;
    root.#ending ??= moment();
    return root.#ending.reached;
  }

  get current(): ContextTransaction | undefined {
    const root = this.#root;
    if (root.#isCommitted !== undefined && performance.now() - root.#leftAt > LEFT_MS) return undefined;
    if (!this.#isOver) return this;
    if (this.#outer) return this.#isUndone ? this : this.#outer.current;
    return this.#isCommitted ? undefined : this;
  }

  /** Tells whether it is that transaction, or a savepoint in it. */
  isWithin(transaction: ContextTransaction): boolean {
    return this === transaction || (this.#outer?.isWithin(transaction) ?? false);
  }

  /** @throws ExecutionClosedError where it is over, or one around it */
  assertOpen(): void {
    if (this.#isOver) throw executionClosed(this.#outer ? SAVEPOINT : this.#isCommitted === false ? UNDONE : EXECUTION);
    this.#outer?.assertOpen();
  }

  /** Notes a query of its `tx` that is not sent. @returns takes it off again: it is, or belongs to another one */
  made(query: MadeQuery): () => void {
    this.#made.add(query);
    return () => void this.#made.delete(query);
  }

  /** Sends a query of its `tx`, which is refused behind the end: one that is under way then fails it. */
  async send(query: PromiseLike<unknown>): Promise<unknown> {
    this.assertOpen();
    return await this.count(async () => await runInContext(this.txContext, () => query.then()));
  }

  /** Sends something that must be answered before it ends. @param among where it is noted until then */
  async count<T>(send: () => Promise<T>, among: Set<Promise<unknown>> = this.#sent): Promise<T> {
    const sent = send();
    among.add(sent);
    try {
      return await sent;
    } finally {
      among.delete(sent);
    }
  }

  /** Until what has been sent is answered. */
  async idle(): Promise<void> {
    await Promise.allSettled(this.#sent);
  }

  /** From now on its code gets nothing done. */
  close(): void {
    this.#isOver = true;
  }

  /** Of a savepoint, the same where it is rolled back to. */
  undo(): void {
    this.close();
    this.#isUndone = true;
  }

  /** Runs its code, so that queries find to it by whatever name they are asked. */
  async inside<T>(code: () => Promise<T>): Promise<T> {
    try {
      return await runInContext(this.context, code);
    } finally {
      this.leave();
    }
  }

  /** Its code has returned, or thrown: what asks from now on was left behind. */
  protected leave(): void {
    this.#leftAt = performance.now();
  }

  /** @param isCommitted false also where that is not known */
  end(isCommitted: boolean): void {
    this.#isCommitted = isCommitted;
    this.#ending?.reach();
  }

  /**
   * Closes it where all went well.
   *
   * @throws IdempotencyError where something in it is still going on, was never begun, or has an end that is not known: half
   *   of that would be committed
   */
  finish(): void {
    this.close();
    const isUnanswered = this.hasUnanswered();
    if (this.nested) throw stillRunning('an open $transaction');
    if (isUnanswered) throw stillRunning('a query without an answer');
    for (const { method, isWrite } of this.#made) {
      if (isWrite) throw neverSent(method);
      warnOnce(this.client, `unsent ${method}`, () => unsentRead(method));
    }
  }

  /** Whether a query in it is not through. @throws where one has no known end */
  protected hasUnanswered(): boolean {
    return this.#sent.size > 0;
  }

  /**
   * Runs a nested one, which is alone in it: one at a time, and behind those. What was beside it would be rolled back, or
   * released, with it.
   */
  protected async nestBehind<T>(those: ReadonlySet<Promise<unknown>>, run: () => Promise<T>): Promise<T> {
    while (this.nested || those.size > 0) await (this.nested ?? Promise.allSettled(those));
    this.assertOpen();
    const { reached, reach } = moment();
    this.nested = reached;
    try {
      return await run();
    } finally {
      this.nested = undefined;
      reach();
    }
  }
}

const EXECUTION = 'an execution that has ended';
const UNDONE = 'an execution that was rolled back, or may have been, and will be tried again';
const SAVEPOINT = 'a $transaction within an execution that has ended';

const executionClosed = (existing: string) =>
  new ExecutionClosedError(
    'A query came after its execution had ended; nothing was done. Await every query, and wrap what goes on by itself in outside().',
    { existing, expected: 'a query while its handler runs, or outside(() => …)' },
  );

const stillRunning = (existing: string) =>
  new IdempotencyError('A query was still running when its handler, or its $transaction, returned. Await it.', {
    existing,
    expected: 'none',
  });

const unsentRead = (method: string) => `${method}, asked of tx, was never awaited, so it was not sent. Await it.`;

const neverSent = (method: string) =>
  new IdempotencyError(
    `${method}, asked of tx, was never awaited, and Prisma sends a query where it is awaited; its transaction is rolled back. Await it.`,
    { existing: `${method} without await`, expected: `await tx.${method}` },
  );
