import pg from 'pg';
import { z } from 'zod';
import { until } from '../../scripts/testing/until.ts';
import type { Client } from '../../shop/db.ts';
import { createIdempotency, type Outcome, type Principal } from '../index.ts';
import type { TransactionOf } from '../store/prisma/client.ts';

/** Shared by the engine's tests on a real database. */

export const ANN: Principal = { tenant: 'acme', principal: 'ann' };
export const BOB: Principal = { tenant: 'acme', principal: 'bob' };
export const SECRET = 'Vq3-Jt0Lr8_Yd2Wc6Hn1Pz9Xs4Bk7Fe5';
export const HOUR = 3_600_000;

/** The kit as one process has it: each call makes an engine that shares nothing with the others but the database. */
export function kit(client: Client, options: Partial<Parameters<typeof createIdempotency<Client>>[0]> = {}) {
  return createIdempotency({
    prisma: client,
    scope: () => ANN,
    waitMs: 10_000,
    onError: () => {},
    ...options,
  });
}

export type Tx = TransactionOf<Client>;

/** Accepts any object; the tests that are about validation have schemas of their own. */
export const anything = z.looseObject({});

let keys = 0;
/** A key that nobody has used yet, not minted by the kit. */
export const freshKey = () => `key-${++keys}`;

/** The business row that must exist exactly once. */
export async function effect(tx: Pick<Tx, 'auditRecord'>, key: string): Promise<void> {
  await tx.auditRecord.create({ data: { action: key, tenant: 't', principal: 'p' } });
}

export const effects = (client: Client, key: string) => client.auditRecord.count({ where: { action: key } });
export const rowsOf = (client: Client, key: string) => client.idempotencyKey.findMany({ where: { key } });

/** Fails as PostgreSQL does where two transactions get in each other's way. */
export const conflict = (tx: Tx) =>
  tx.$executeRawUnsafe(`DO $$ BEGIN RAISE EXCEPTION 'in the way' USING ERRCODE = 'serialization_failure'; END $$`);

/** Writes what the triggers refuse, as only a superuser may: a row that no way of the kit's leads to. */
export async function pastTriggers(client: Client, sql: string, ...values: unknown[]): Promise<void> {
  await client.$transaction([
    client.$executeRaw`SET LOCAL session_replication_role = replica`,
    client.$executeRawUnsafe(sql, ...values),
  ]);
}

/** A promise that is opened from outside: the barrier that stands in for a sleep. */
export function gate<T = void>() {
  let open!: (value: T) => void;
  const opened = new Promise<T>((resolve) => {
    open = resolve;
  });
  return { open, opened };
}

/** A handler that stops in its transaction, with its effect written, until it is told how to end. */
export function stopping() {
  const state = { runs: 0, started: gate(), end: gate<'commit' | 'roll back'>() };
  const handle = async ({ tx, key }: { tx: Tx; key: string }) => {
    const run = ++state.runs;
    await effect(tx, key);
    if (run > 1) return { run };
    state.started.open();
    if ((await state.end.opened) === 'roll back') throw new Error('told to roll back');
    return { run };
  };
  return { ...state, handle, runs: () => state.runs };
}

/** The part that distinguishes outcomes, without the keys that differ from call to call. */
export function withoutKeys(outcome: Outcome<unknown>) {
  const { nextKey, key, ...rest } = outcome;
  return rest;
}

/** Looks at the server from outside, to wait for conditions that only the server knows. */
export async function watchOf(url: string) {
  const client = new pg.Client({ connectionString: url });
  await client.connect();
  const count = async (condition: string): Promise<number> => {
    const sql = `SELECT count(*)::int AS n FROM pg_stat_activity
                  WHERE datname = current_database() AND pid <> pg_backend_pid() AND ${condition}`;
    return (await client.query(sql)).rows[0].n;
  };
  const waiting = () => count(`wait_event_type = 'Lock'`);
  const inTransaction = () => count(`xact_start IS NOT NULL`);
  return {
    query: (sql: string, values: unknown[] = []) => client.query(sql, values),
    waiting,
    inTransaction,
    /** Until no other connection has a transaction. */
    untilIdle: () => until('no connection has a transaction', async () => (await inTransaction()) === 0),
    untilWaiting: (connections: number) =>
      until(`${connections} connections wait for a lock`, async () => (await waiting()) >= connections),
    close: () => client.end(),
  };
}
