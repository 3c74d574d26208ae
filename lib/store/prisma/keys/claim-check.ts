import { randomUUID } from 'node:crypto';
import { FINGERPRINT_VERSION } from '../../../core/fingerprint.ts';
import { NO_SECRET } from '../../../core/secrets.ts';
import type { Claim } from '../../rows.ts';
import type { TriedClaim } from '../../store.ts';
import { type PrismaClientLike, primaryOf, type RawQueries, send } from '../client.ts';
import type { ClientPool } from '../client-pool.ts';
import { NoRowsChangedError, serverMessage, sqlState } from '../errors.ts';
import { rightsOn } from '../rights.ts';
import type { Rows } from '../statement.ts';
import { TABLES } from '../tables.ts';
import { claimStatements, readClaim } from './claim.ts';
import { completionStatement } from './complete.ts';
import { find } from './read.ts';

/**
 * The table that a connection sees as the kit's, as one text: two connections see the same one where it is equal. A server
 * is told by when it started, which a pooler does not change and everybody may read.
 */
export const PLACE = `
SELECT current_database() AS database,
       concat_ws(' ', extract(epoch FROM pg_postmaster_start_time()), current_database(),
                 to_regclass('idempotency_keys')::oid) AS place`;

const CALLED = `ARRAY[${TABLES.map((table) => `to_regclass('${table}')`)}]`;

const NEEDED = `{${TABLES.map((table) => `"{${rightsOn(table)}}"`)}}`;

// Quoted, so that each name can stand in a statement that mends what is wrong.
const RIGHTS = `
SELECT quote_ident(current_user) AS "user", quote_ident(current_database()) AS "quotedDatabase",
       to_regclass('idempotency_keys')::text AS "keyTable",
       (SELECT source FROM pg_settings WHERE name = 'default_transaction_read_only' AND setting = 'on') AS "readOnlyBy",
       (SELECT jsonb_build_object('level', setting, 'source', source) FROM pg_settings
         WHERE name = 'default_transaction_isolation' AND setting <> 'read committed') AS "strictBy",
       ARRAY(SELECT found::text FROM unnest(${CALLED}) AS found
              WHERE row_security_active(found)
                AND NOT EXISTS (SELECT FROM pg_policy CROSS JOIN LATERAL unnest(polroles) AS whose
                                 WHERE polrelid = found AND polpermissive AND polcmd = '*' AND pg_get_expr(polqual, found) = 'true'
                                   AND CASE WHEN whose = 0 THEN true ELSE pg_has_role(whose, 'USAGE') END)) AS "hiddenBy",
       (SELECT coalesce(jsonb_agg(jsonb_build_object('on', name, 'rights', rights)), '[]')
          FROM (SELECT found::text AS name, ARRAY(SELECT wanted FROM unnest(needed::text[]) AS wanted
                                                   WHERE NOT has_table_privilege(found, wanted)) AS rights
                  FROM unnest(${CALLED}, '${NEEDED}'::text[]) AS tables(found, needed) WHERE found IS NOT NULL
                UNION ALL
                SELECT 'SEQUENCE ' || sequence.oid::regclass, '{USAGE}' FROM pg_class AS sequence
                  JOIN pg_depend ON objid = sequence.oid AND classid = 'pg_class'::regclass AND refobjid = ANY (${CALLED})
                 WHERE CASE WHEN relkind = 'S' THEN NOT has_sequence_privilege(sequence.oid, 'USAGE') END) AS asked
         WHERE rights <> '{}') AS lacking`;

type Place = Pick<TriedClaim, 'place' | 'database'>;
type Rights = Omit<TriedClaim, keyof Place | 'transactions' | 'whyNotOwn' | 'refused' | 'ignored' | 'readsStandby'>;

/** Ends the transaction without a trace. */
class Undo extends Error {}

/**
 * Claims a key of nobody's, completes it, replays its answer and claims it once more, by the statements of every execution,
 * in a transaction that is rolled back.
 */
export async function tryClaim(client: PrismaClientLike, pool: ClientPool | undefined): Promise<TriedClaim> {
  const db: RawQueries = primaryOf(client);
  const [place] = await db.$queryRawUnsafe<[Place]>(PLACE);
  const [rights] = await db.$queryRawUnsafe<[Rights]>(RIGHTS);
  // Past `primaryOf`, on purpose: where the app's own reads go.
  const [{ readsStandby }] = await client.$queryRawUnsafe<[{ readsStandby: boolean }]>(
    'SELECT pg_is_in_recovery() AS "readsStandby"',
  );
  const tried = { ...place, ...rights, readsStandby: readsStandby && db !== client, ...(await transactionsOf(pool)) };
  let ignored: TriedClaim['ignored'];
  try {
    await client.$transaction(async (tx: RawQueries) => {
      ignored = await tryOn(tx);
      throw new Undo();
    });
    return tried;
  } catch (error) {
    if (error instanceof Undo) return ignored ? { ...tried, ignored } : tried;
    const state = sqlState(error);
    if (state === undefined) throw error;
    return { ...tried, refused: { state, says: serverMessage(error) ?? state } };
  }
}

/** The part that the database took without an error, and did not do: a rule or a trigger is in its way. None: all is well. */
async function tryOn(tx: RawQueries): Promise<TriedClaim['ignored']> {
  const claim = { ...NOBODYS, key: randomUUID() };
  const insert = async () => {
    let rows: Rows = [];
    for (const statement of claimStatements(claim, 1000, false)) rows = await send(tx, statement);
    return readClaim(claim, rows);
  };
  const claimed = await insert();
  if (!claimed) return 'claim';
  try {
    await send(tx, completionStatement(claim, claimed, { state: 'succeeded', result: ANSWER }));
  } catch (error) {
    if (error instanceof NoRowsChangedError) return 'completion';
    throw error;
  }
  const row = await find(tx, claim);
  if (row?.state !== 'succeeded' || row.result !== ANSWER) return 'replay';
  return (await insert()) ? 'unique index' : undefined;
}

/** The answer of the key that is tried. */
const ANSWER = '"tried"';

async function transactionsOf(pool: ClientPool | undefined): Promise<Pick<TriedClaim, 'transactions' | 'whyNotOwn'>> {
  const whyNotOwn = await pool?.whyNot(FIND);
  return { transactions: pool && !whyNotOwn ? 'own' : 'interactive', ...(whyNotOwn && { whyNotOwn }) };
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
