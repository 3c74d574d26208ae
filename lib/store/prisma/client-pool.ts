import { warnOnce } from '../../core/environment.ts';
import { assertSetUp, ConfigurationError } from '../../core/errors.ts';
import type { ExecuteOptions } from '../rows.ts';
import { type SchemaPart, StoreUnavailableError } from '../store.ts';
import { seen } from './ambient/ambient-client.ts';
import { expectsPools } from './async-context.ts';
import type { PrismaClientLike, RawQueries } from './client.ts';
import { poolReachedBy, WHICH_POOL } from './query-loader.ts';
import { rowsOf, type Statement } from './statement.ts';
import type { TableNames } from './tables.ts';
import { withTimeout } from './timeouts.ts';
import type { PoolLike } from './wire/driver.ts';
import { isWrapped, withConnection } from './wire/pool.ts';

/** Pools by the client under all extensions whose queries go to them. */
const pools = new WeakMap<RawQueries, PoolLike>();

// A set-up fault is to be found before the first handler runs, not at its end: a missing right, or a missing primary key,
// which would be no arbiter. Planned, and not executed.
const CHECKS = {
  keys: `
EXPLAIN INSERT INTO idempotency_keys (tenant, principal, operation, key, state, expires_at)
SELECT '', '', '', '', 'abandoned', now() WHERE false
ON CONFLICT (tenant, principal, operation, key) DO NOTHING`,
  messaging: `
EXPLAIN INSERT INTO inbox_events (source, event_id, state, payload_hash)
SELECT '', '', 'failed', '' WHERE false
ON CONFLICT (source, event_id) DO NOTHING`,
};

type Timeouts = Pick<ExecuteOptions, 'timeoutMs' | 'maxWaitMs'>;

/** The pool behind the user's client, on whose connections the kit has transactions of its own. */
export class ClientPool {
  readonly client: PrismaClientLike;
  readonly #names: TableNames;
  readonly #part: SchemaPart;
  #pool: PoolLike | undefined;
  /** The reason why executions are in Prisma's transactions all the same. */
  #whyNot: ConfigurationError | undefined;

  /** @param part whose tables its transactions claim in */
  constructor(client: PrismaClientLike, names: TableNames, part: SchemaPart) {
    this.client = client;
    this.#names = names;
    this.#part = part;
  }

  /** The client under all its extensions, whose transactions they are. */
  get original(): RawQueries {
    return seen(this.client).original;
  }

  /** The pool, once it has been found, and for as long as it is open. */
  get current(): PoolLike | undefined {
    return this.#pool?.ending || this.#whyNot ? undefined : this.#pool;
  }

  /**
   * Finds the pool that the client sends its queries to.
   *
   * @returns none where executions are in Prisma's interactive transactions: the pool is not wrapped, or the client is none
   *   that the kit knows
   * @throws the driver's error where the tables cannot be written; a StoreUnavailableError where there is no answer in time
   */
  async find(how: Timeouts): Promise<PoolLike | undefined> {
    const pool = await this.#unlessUnsuited(async () => {
      const found = await this.#locate(how.timeoutMs + how.maxWaitMs);
      await checkTable(found, { text: this.#names.text(CHECKS[this.#part]), values: [] }, how);
      return found;
    });
    this.#pool = pool;
    const why = this.#whyNot;
    if (!pool && why) warnOnce(this.client, 'transactions', () => notOurs(why.message));
    return pool;
  }

  /** The same for questions, whether the tables can be written or not. Says nothing where there is none. */
  async findForQuestions(withinMs: number): Promise<PoolLike | undefined> {
    return this.current ?? (await this.#unlessUnsuited(() => this.#locate(withinMs)));
  }

  async #unlessUnsuited(find: () => Promise<PoolLike>): Promise<PoolLike | undefined> {
    if (this.#whyNot) return undefined;
    try {
      return await find();
    } catch (error) {
      if (!(error instanceof ConfigurationError)) throw error;
      this.#whyNot = error;
      return undefined;
    }
  }

  async #locate(withinMs: number): Promise<PoolLike> {
    if (!expectsPools()) throw noPool(false);
    const { original, whyUnproven, hasOwnTransaction } = seen(this.client);
    if (whyUnproven) throw whyUnproven;
    // It may do something in each of the client's transactions first, such as to set a tenant.
    assertSetUp(!hasOwnTransaction, 'The client has a $transaction of its own, which executions are to go through.', {
      existing: 'an extension with $transaction',
      expected: "a client without it (`begin` sets a tenant), or transaction: 'interactive'",
    });
    // Prisma's engine starts with its first query, which takes a slow machine a while.
    return await withTimeout(poolOf(original), withinMs);
  }

  /** The reason why `find` finds none; nothing where it does, or where that cannot be learned at the moment. */
  async whyNot(how: Timeouts): Promise<ConfigurationError | undefined> {
    await this.find(how).catch(() => {});
    return this.#whyNot;
  }
}

/** Statements of that kind that have gone through, by pool. */
const checked = new WeakMap<PoolLike, Set<string>>();

/** @throws ConfigurationError where the pool's connections take no pipelines; the server's error where it refuses */
async function checkTable(pool: PoolLike, check: Statement, { timeoutMs, maxWaitMs }: Timeouts): Promise<void> {
  const through = checked.get(pool) ?? new Set();
  if (through.has(check.text)) return;
  const silent = () => new StoreUnavailableError(`The key table could not be looked at within ${timeoutMs} ms.`);
  await withConnection(pool, maxWaitMs, async (connection) => {
    assertSetUp(connection.takesPipelines, "Transactions of the kit's own need a pool of the plain `pg` driver.", {
      existing: "pg-native, or a pool in pg's pipeline mode",
      expected: 'oncekitPool(new Pool({ connectionString }))',
    });
    rowsOf(await withTimeout(connection.ask(check), timeoutMs, silent));
  });
  checked.set(pool, through.add(check.text));
}

/**
 * The pool of a client, which is looked for before its first execution. Asked under all extensions, which may have queries of
 * their own, to another database.
 *
 * @throws ConfigurationError where no pool of ours has seen it
 */
async function poolOf(original: RawQueries): Promise<PoolLike> {
  const known = pools.get(original);
  if (known && !known.ending) return known;
  const found = await poolReachedBy(() => original.$queryRawUnsafe(WHICH_POOL));
  if (!found || found.ending || !isWrapped(found)) throw noPool(known !== undefined);
  pools.set(original, found);
  return found;
}

const notOurs = (why: string) =>
  `Executions run in Prisma's interactive transactions: a third as fast, and a write past \`tx\` is refused. ${why} Say transaction: 'interactive' where that is meant.`;

const noPool = (wasKnown: boolean) =>
  new ConfigurationError("Transactions of the kit's own need a client on a pool that the kit has wrapped.", {
    existing: wasKnown
      ? 'a client that was disconnected, and has opened a pool of its own since'
      : 'a pool as Prisma makes it',
    expected: "PrismaPg from 'oncekit/adapter-pg', or new PrismaPg(oncekitPool(new Pool({ connectionString })))",
  });
