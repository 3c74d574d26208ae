import { randomUUID } from 'node:crypto';
import { FINGERPRINT_VERSION } from '../../../core/fingerprint.ts';
import { NO_SECRET } from '../../../core/secrets.ts';
import type { Claim } from '../../rows.ts';
import type { TriedClaim } from '../../store.ts';
import { countRows, type PrismaClientLike, primaryOf, type RawQueries, sendStatement } from '../client.ts';
import type { Db } from '../db.ts';
import { NoRowsChangedError, serverMessage, sqlState } from '../errors.ts';
import { PastTransactionError } from '../query-loader.ts';
import type { Rows } from '../statement.ts';
import { rightsOn, TABLES } from '../tables.ts';
import { BATCH_MS } from '../timeouts.ts';
import type { TransactionPlan } from '../transaction-plan.ts';
import { claimStatements, readClaim } from './claim.ts';
import { completionStatement } from './complete.ts';
import { find, IS_KEY, keyValues } from './read.ts';

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
DELETE FROM idempotency_keys WHERE ${IS_KEY} RETURNING key`;

type Place = Pick<TriedClaim, 'place' | 'database'>;
type Trial = Pick<TriedClaim, 'refused' | 'ignored' | 'escapes'>;
type Rights = Omit<
  TriedClaim,
  keyof Place | keyof Trial | 'transactions' | 'whyNotOwn' | 'whyUnproven' | 'readsStandby'
>;

/** Ends the transaction without a trace. */
class Undo extends Error {}

/**
 * Claims a made-up key, completes it, replays its answer and claims it once more, by the statements of every execution and
 * in a transaction as those have, which is rolled back. What stays all the same is removed.
 */
export async function tryClaim(db: Db): Promise<TriedClaim> {
  const looked = await db.runThroughClient((client) => look(db, client), { withinMs: BATCH_MS });
  const whyNotOwn = await db.pool?.whyNot(HOW);
  const { whyUnproven } = db;
  const claim = { ...TRIAL_CLAIM, key: randomUUID() };
  const trial = await tryOn(db, claim, looked.keyTable);
  return {
    ...looked,
    transactions: db.pool && !whyNotOwn ? 'own' : 'interactive',
    ...(whyNotOwn && { whyNotOwn }),
    ...(whyUnproven && { whyUnproven }),
    ...trial,
  };
}

async function look(db: Db, client: PrismaClientLike): Promise<Place & Rights & Pick<TriedClaim, 'readsStandby'>> {
  const primary = primaryOf(client);
  const queries = db.queriesOn(primary);
  const [place] = await queries.$queryRawUnsafe<[Place]>(PLACE);
  const [rights] = await queries.$queryRawUnsafe<[Rights]>(RIGHTS);
  // Past `primaryOf`, on purpose: where the app's own reads go.
  const [{ readsStandby }] = await client.$queryRawUnsafe<[{ readsStandby: boolean }]>(
    'SELECT pg_is_in_recovery() AS "readsStandby"',
  );
  return { ...place, ...rights, readsStandby: readsStandby && primary !== client };
}

async function tryOn(db: Db, claim: Claim, keyTable: string | null): Promise<Trial> {
  let found: Trial | undefined;
  const plan: TransactionPlan<object, TriedClaim['ignored'], never, never> = {
    first: () => claimStatements(claim, HOW.timeoutMs, false),
    check: async (rows, queries) => ({ claimed: await tryRest(queries, claim, rows) }),
    async work(tx, ignored) {
      const escapes = ignored ? undefined : await tryModel(tx, { db, claim, keyTable });
      found = { ...(ignored && { ignored }), ...(escapes && { escapes }) };
      throw new Undo();
    },
  };
  const ended = await db.runTransaction(plan, HOW);
  // Whatever came of it. An extension may have begun no transaction, or committed what was to be rolled back.
  if (await db.run((queries) => remove(queries, claim))) return { escapes: STAYED };
  // And may have put an error of its own in the place of `Undo`.
  if (found) return found;
  const error = 'error' in ended ? ended.error : undefined;
  if (error instanceof PastTransactionError) return { escapes: factOf(error) };
  const state = sqlState(error);
  if (state === undefined) throw error;
  return { refused: { state, says: serverMessage(error) ?? state } };
}

/** The part that the database took without an error, and did not do: a rule or a trigger is in its way. None: all is well. */
async function tryRest(db: RawQueries, claim: Claim, rows: Rows): Promise<TriedClaim['ignored']> {
  const claimed = readClaim(claim, rows);
  if (!claimed) return 'claim';
  try {
    await sendStatement(db, completionStatement(claim, claimed, { state: 'succeeded', result: ANSWER }));
  } catch (error) {
    if (error instanceof NoRowsChangedError) return 'completion';
    throw error;
  }
  const row = await find(db, claim);
  if (row?.state !== 'succeeded' || row.result !== ANSWER) return 'replay';
  let again: Rows = [];
  for (const statement of claimStatements(claim, HOW.timeoutMs, false)) again = await sendStatement(db, statement);
  return readClaim(claim, again) ? 'unique index' : undefined;
}

/** Without what a handler is to do, which is said behind it. */
const factOf = ({ message }: PastTransactionError) => `${message.split(';')[0]}.`;

type Named = { name: string; dbName?: string | null };
type Model = Omit<Named, 'name'> & { fields: readonly Named[] };

type Change = (asked: { where: object | undefined; data?: object | undefined }) => Promise<{ count: number }>;
type Delegate = Record<'updateMany' | 'deleteMany', Change>;

/** A model, or a field, by its name in the database. */
const isCalled = (called: string) => (each: Named) => (each.dbName ?? each.name) === called;

/**
 * The same by queries of the key table's model, where the client has that: an extension may take those elsewhere, and leave raw SQL.
 *
 * @returns what it says of a transaction that it is not in
 */
async function tryModel(
  tx: object,
  { db, claim, keyTable }: { db: Db; claim: Claim; keyTable: string | null },
): Promise<string | undefined> {
  const { models = {} } = (tx as { _runtimeDataModel?: { models: Record<string, Model> } })._runtimeDataModel ?? {};
  const table = keyTable?.split('.').at(-1)?.replaceAll('"', '') ?? '';
  const model = Object.entries(models)
    .map(([name, model]) => ({ ...model, name }))
    .find(isCalled(table));
  const field = model?.fields.find(isCalled('key'));
  if (!model || !field) return undefined;
  const name = model.name.charAt(0).toLowerCase() + model.name.slice(1);
  const delegate = (tx as Record<string, Delegate | undefined>)[name];
  if (!delegate) return undefined;
  const [key, absent] = [claim.key, randomUUID()].map((value) => ({ [field.name]: value }));
  try {
    const { count } = await delegate.updateMany({ where: key, data: key });
    // As a soft delete has it; which way it goes is all that is asked.
    await delegate.deleteMany({ where: absent });
    // Where each query is seen, one that finds nothing is in the transaction, and an extension has narrowed it.
    return count === 0 && db.whyUnproven
      ? `${name}.updateMany, asked of tx, did not find the key that was claimed.`
      : undefined;
  } catch (error) {
    // Of a model that the app has changed nothing is known.
    return error instanceof PastTransactionError ? factOf(error) : undefined;
  }
}

const STAYED = 'The key of the trial was there behind the rollback. It is removed.';

/** Tells whether it was there. */
async function remove(db: RawQueries, claim: Claim): Promise<boolean> {
  const removed = await countRows(db, REMOVE, ...keyValues(claim)).catch((error) => {
    // Whoever may not delete, or write, is told so by what was looked at before.
    if (sqlState(error) === undefined) throw error;
    return 0;
  });
  return removed > 0;
}

/** The answer of the key that is tried. */
const ANSWER = '"tried"';

const HOW = { timeoutMs: 5000, maxWaitMs: 2000, beforeCommit: () => undefined };

const TRIAL_CLAIM: Omit<Claim, 'key'> = {
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
