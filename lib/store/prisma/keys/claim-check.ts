import { randomUUID } from 'node:crypto';
import { FINGERPRINT_VERSION } from '../../../core/fingerprint.ts';
import { NO_SECRET } from '../../../core/secrets.ts';
import type { Claim } from '../../rows.ts';
import type { TriedClaim } from '../../store.ts';
import { type PrismaClientLike, primaryOf, type RawQueries, send } from '../client.ts';
import type { ClientPool } from '../client-pool.ts';
import { serverMessage, sqlState } from '../errors.ts';
import type { Rows } from '../statement.ts';
import { TABLES } from '../tables.ts';
import { claimStatements, readClaim } from './claim.ts';
import { completionStatement } from './complete.ts';

/**
 * The table that a connection sees as the kit's, as one text: two connections see the same one where it is equal. A server
 * is told by when it started, which a pooler does not change and everybody may read.
 */
export const PLACE = `
SELECT current_database() AS database,
       concat_ws(' ', extract(epoch FROM pg_postmaster_start_time()), current_database(),
                 to_regclass('idempotency_keys')::oid) AS place`;

// Quoted, so that each name can stand in a statement that mends what is wrong.
const RIGHTS = `
SELECT quote_ident(current_user) AS "user", quote_ident(current_database()) AS "quotedDatabase",
       to_regclass('idempotency_keys')::text AS "keyTable",
       (SELECT source FROM pg_settings WHERE name = 'default_transaction_read_only' AND setting = 'on') AS "readOnlyBy",
       ARRAY(SELECT found::text
               FROM unnest(ARRAY[${TABLES.map((table) => `to_regclass('${table}')`)}]) AS found
              WHERE NOT (has_table_privilege(found, 'SELECT') AND has_table_privilege(found, 'INSERT')
                         AND has_table_privilege(found, 'UPDATE') AND has_table_privilege(found, 'DELETE'))) AS lacking`;

type Place = Pick<TriedClaim, 'place' | 'database'>;
type Rights = Omit<TriedClaim, keyof Place | 'transactions' | 'whyNotOwn' | 'refused' | 'readsStandby'>;

/** Ends the transaction without a trace. */
class Undo extends Error {}

/** Claims a key of nobody's and completes it, by the statements of every execution, in a transaction that is rolled back. */
export async function tryClaim(client: PrismaClientLike, pool: ClientPool | undefined): Promise<TriedClaim> {
  const db: RawQueries = primaryOf(client);
  const [place] = await db.$queryRawUnsafe<[Place]>(PLACE);
  const [rights] = await db.$queryRawUnsafe<[Rights]>(RIGHTS);
  // Past `primaryOf`, on purpose: where the app's own reads go.
  const [{ readsStandby }] = await client.$queryRawUnsafe<[{ readsStandby: boolean }]>(
    'SELECT pg_is_in_recovery() AS "readsStandby"',
  );
  const tried = { ...place, ...rights, readsStandby: readsStandby && db !== client, ...(await transactionsOf(pool)) };
  try {
    await client.$transaction(async (tx: RawQueries) => {
      const claim = { ...NOBODYS, key: randomUUID() };
      let rows: Rows = [];
      for (const statement of claimStatements(claim, 1000, false)) rows = await send(tx, statement);
      const claimed = readClaim(claim, rows);
      if (claimed) await send(tx, completionStatement(claim, claimed, { state: 'succeeded', result: '' }));
      throw new Undo();
    });
    return tried;
  } catch (error) {
    if (error instanceof Undo) return tried;
    const state = sqlState(error);
    if (state === undefined) throw error;
    return { ...tried, refused: { state, says: serverMessage(error) ?? state } };
  }
}

async function transactionsOf(pool: ClientPool | undefined): Promise<Pick<TriedClaim, 'transactions' | 'whyNotOwn'>> {
  const whyNotOwn = await pool?.whyNot(FIND);
  if (pool?.isAmbient) return { transactions: 'ambient', ...(whyNotOwn && { whyNotOwn }) };
  if (whyNotOwn) return { transactions: 'interactive', whyNotOwn };
  return { transactions: pool ? 'own' : 'interactive' };
}

const FIND = { timeoutMs: 5000, maxWaitMs: 2000 };

const NOBODYS: Omit<Claim, 'key'> = {
  tenant: 'oncekit',
  principal: 'nobody',
  operation: 'oncekit.doctor',
  fingerprint: { hash: new Uint8Array(16), version: FINGERPRINT_VERSION, secretId: NO_SECRET },
  schemaVersion: 1,
  mintedAt: null,
  windowMs: 1000,
  retentionMs: 1000,
  waitMs: 0,
};
