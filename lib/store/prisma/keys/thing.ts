import { hash } from 'node:crypto';
import { type KeyId, lengthPrefixed } from '../../../core/scope.ts';
import type { Claim, KeyRow } from '../../rows.ts';
import type { RawQueries } from '../client.ts';
import { find, IS_KEY, KEY_COLUMNS, type RawRow, toKeyRow } from './read.ts';

/**
 * The number of the advisory lock that stands for a thing: a ticket like a key's (`claim.ts`), drawn behind it. No tenant
 * is empty, so that no key's ticket is made of the same text.
 */
export function thingTicketOf({ tenant, operation }: Pick<KeyId, 'tenant' | 'operation'>, thing: string): bigint {
  return hash('sha256', lengthPrefixed('', tenant, operation, thing), 'buffer').readBigInt64BE();
}

/** The row that holds a thing, whoever's it is: the unique index `idempotency_keys_thing_idx` lets in one. */
export const holdsThing = (thing: string) => `tenant = $1 AND operation = $3 AND thing = ${thing}`;

// The principal is not asked for: the thing is done once by all of them.
const FIND_HOLDER = `
SELECT ${KEY_COLUMNS} FROM idempotency_keys WHERE tenant = $1 AND operation = $2 AND thing = $3`;

/** A key, and the thing that it is to be done once for, where its operation names one. */
type KeyWithThing = KeyId & Pick<Claim, 'thing'>;

/** The committed row of the key; where there is none, the one that holds its thing. Errors as of `find`. */
export async function findDeciding(db: RawQueries, { thing, ...id }: KeyWithThing): Promise<KeyRow | undefined> {
  const row = await find(db, id);
  if (row || thing === undefined) return row;
  const [holder] = await db.$queryRawUnsafe<RawRow[]>(FIND_HOLDER, id.tenant, id.operation, thing);
  return holder && toKeyRow(holder);
}

const THING = `SELECT thing FROM idempotency_keys WHERE ${IS_KEY}`;

/** `Store.thingOf`. */
export async function thingOf(db: RawQueries, { tenant, principal, operation, key }: KeyId): Promise<string | null> {
  const [row] = await db.$queryRawUnsafe<{ thing: string | null }[]>(THING, tenant, principal, operation, key);
  return row?.thing ?? null;
}
