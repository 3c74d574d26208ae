import { randomUUID } from 'node:crypto';
import { FINGERPRINT_VERSION } from '../../../core/fingerprint.ts';
import { NO_SECRET } from '../../../core/secrets.ts';
import type { Claim } from '../../rows.ts';
import type { TriedClaim } from '../../store.ts';
import { type PrismaClientLike, primaryOf, type RawQueries, send } from '../client.ts';
import type { Db } from '../db.ts';
import { NoRowsChangedError, serverMessage, sqlState } from '../errors.ts';
import { PastTransactionError } from '../query-loader.ts';
import { rightsOn } from '../rights.ts';
import type { Rows } from '../statement.ts';
import { TABLES } from '../tables.ts';
import { BATCH_MS } from '../timeouts.ts';
import type { Plan } from '../transaction.ts';
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

// An extension may have let it out of its transaction.
const REMOVE = `
DELETE FROM idempotency_keys WHERE tenant = $1 AND principal = $2 AND operation = $3 AND key = $4`;

type Place = Pick<TriedClaim, 'place' | 'database'>;
type Trial = Pick<TriedClaim, 'refused' | 'ignored' | 'escapes'>;
type Rights = Omit<
  TriedClaim,
  keyof Place | keyof Trial | 'transactions' | 'whyNotOwn' | 'whyUnproven' | 'readsStandby'
>;

/** Ends the transaction without a trace. */
class Undo extends Error {}

/**
 * Claims a key of nobody's, completes it, replays its answer and claims it once more, by the statements of every execution and
 * in a transaction as those have, which is rolled back. What stays all the same is removed.
 */
export async function tryClaim(db: Db): Promise<TriedClaim> {
  const looked = await db.runThroughClient(look, { withinMs: BATCH_MS });
  const whyNotOwn = await db.pool?.whyNot(HOW);
  const { whyUnproven } = db;
  const claim = { ...NOBODYS, key: randomUUID() };
  const trial = await tryOn(db, claim, looked.keyTable);
  const stays = !trial.refused && (await db.run((queries) => removeIfThere(queries, claim)));
  return {
    ...looked,
    transactions: db.pool && !whyNotOwn ? 'own' : 'interactive',
    ...(whyNotOwn && { whyNotOwn }),
    ...(whyUnproven && { whyUnproven }),
    ...trial,
    ...(stays && { escapes: 'The key of the trial was there behind the rollback. It is removed.' }),
  };
}

async function look(client: PrismaClientLike): Promise<Place & Rights & Pick<TriedClaim, 'readsStandby'>> {
  const db: RawQueries = primaryOf(client);
  const [place] = await db.$queryRawUnsafe<[Place]>(PLACE);
  const [rights] = await db.$queryRawUnsafe<[Rights]>(RIGHTS);
  // Past `primaryOf`, on purpose: where the app's own reads go.
  const [{ readsStandby }] = await client.$queryRawUnsafe<[{ readsStandby: boolean }]>(
    'SELECT pg_is_in_recovery() AS "readsStandby"',
  );
  return { ...place, ...rights, readsStandby: readsStandby && db !== client };
}

async function tryOn(db: Db, claim: Claim, keyTable: string | null): Promise<Trial> {
  let ignored: TriedClaim['ignored'];
  const plan: Plan<object, never> = {
    first: () => claimStatements(claim, HOW.timeoutMs, false),
    async work(tx, rows, queries) {
      ignored = await tryRest(queries, claim, rows);
      if (!ignored) await tryModel(tx, keyTable);
      throw new Undo();
    },
  };
  const outcome = await db.runTransaction(plan, HOW);
  const error = 'error' in outcome ? outcome.error : undefined;
  if (error instanceof Undo) return ignored ? { ignored } : {};
  if (error instanceof PastTransactionError) return { escapes: error.message };
  const state = sqlState(error);
  if (state === undefined) throw error;
  return { refused: { state, says: serverMessage(error) ?? state } };
}

/** The part that the database took without an error, and did not do: a rule or a trigger is in its way. None: all is well. */
async function tryRest(db: RawQueries, claim: Claim, rows: Rows): Promise<TriedClaim['ignored']> {
  const claimed = readClaim(claim, rows);
  if (!claimed) return 'claim';
  try {
    await send(db, completionStatement(claim, claimed, { state: 'succeeded', result: ANSWER }));
  } catch (error) {
    if (error instanceof NoRowsChangedError) return 'completion';
    throw error;
  }
  const row = await find(db, claim);
  if (row?.state !== 'succeeded' || row.result !== ANSWER) return 'replay';
  let again: Rows = [];
  for (const statement of claimStatements(claim, HOW.timeoutMs, false)) again = await send(db, statement);
  return readClaim(claim, again) ? 'unique index' : undefined;
}

/** A client as far as it tells of its models. */
interface Modelled {
  _runtimeDataModel?: { models: Record<string, { dbName?: string | null }> };
}

/**
 * The same by a query of the key table's model, where the client has that: an extension may take those elsewhere, and leave raw SQL.
 *
 * @throws PastTransactionError where it is asked past the transaction
 */
async function tryModel(tx: object, keyTable: string | null): Promise<void> {
  const table = keyTable?.split('.').at(-1)?.replaceAll('"', '');
  const { models = {} } = (tx as Modelled)._runtimeDataModel ?? {};
  const [name] = Object.entries(models).find(([name, { dbName }]) => (dbName ?? name) === table) ?? [];
  if (!name) return;
  type Model = { deleteMany(asked: object): Promise<unknown> };
  const model = (tx as Record<string, Model>)[name.charAt(0).toLowerCase() + name.slice(1)];
  // Which way it goes is all that is asked, so there need be no such row.
  await model?.deleteMany({ where: { key: randomUUID() } }).catch((error) => {
    // Of a model that the app has changed nothing is known.
    if (error instanceof PastTransactionError) throw error;
  });
}

async function removeIfThere(db: RawQueries, claim: Claim): Promise<boolean> {
  if (!(await find(db, claim))) return false;
  await db.$queryRawUnsafe(REMOVE, claim.tenant, claim.principal, claim.operation, claim.key);
  return true;
}

/** The answer of the key that is tried. */
const ANSWER = '"tried"';

const HOW = { timeoutMs: 5000, maxWaitMs: 2000, beforeCommit: () => undefined };

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
