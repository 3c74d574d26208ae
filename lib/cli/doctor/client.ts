import type pg from 'pg';
import { errorLine } from '../../core/printable.ts';
import { PLACE } from '../../store/prisma/keys/claim-check.ts';
import type { Rename, TableName } from '../../store/prisma/tables.ts';
import type { TriedClaim } from '../../store/store.ts';
import type { Queryable } from '../database.ts';
import { checkNamed, type Finding } from './finding.ts';
import { isOnThisMachine } from './server.ts';

const check = checkNamed('Client');
const SAME_ADDRESS = 'Give the client the same address: connectionString: process.env.DATABASE_URL.';

/**
 * Checks that the app's own client can do what an execution does, at the database of all other checks:
 * doctor's connection is DATABASE_URL's, and says nothing of an address or a role that the client was given by itself.
 *
 * @param isLost that the key table has lost its unique index is said already
 */
export async function checkClient(
  sql: Queryable,
  tryClaim: () => Promise<TriedClaim>,
  { rename = (text) => text, isLost = false }: { rename?: Rename | undefined; isLost?: boolean } = {},
): Promise<Finding[]> {
  let tried: TriedClaim;
  try {
    tried = await tryClaim();
  } catch (error) {
    return [
      check.problem(
        `The app's client gets no answer: ${errorLine((error as Error).cause ?? error)}.`,
        'Give it the address that works here: connectionString: process.env.DATABASE_URL.',
      ),
    ];
  }
  const [{ place, database }] = (await sql.query(rename(PLACE))).rows as [Pick<TriedClaim, 'place' | 'database'>];
  if (tried.place !== place) {
    if (tried.database !== database) {
      const says = `The app's client is on the database ${tried.database}, and DATABASE_URL leads to ${database}.`;
      return [check.problem(says, SAME_ADDRESS)];
    }
    const schema = tried.keyTable === null ? await closedSchema(sql, tried.user, rename) : undefined;
    if (schema) return [check.problem(...withoutSchema(tried.user, schema))];
    const says =
      "The app's client does not see the tables that DATABASE_URL leads to: it has another server or schema.";
    return [check.problem(says, SAME_ADDRESS)];
  }
  // That the tables are missing is said by the check of the migrations.
  if (tried.keyTable === null) return [checkTransaction(tried)];
  const inTheWay = tried.ignored || tried.refused ? await strangersOn(sql, rename) : [];
  return [
    ...(isLost && hasNoArbiter(tried) ? [] : [checkClaim(tried, inTheWay)]),
    ...(tried.strictBy ? [checkLevel(tried, tried.strictBy)] : []),
    checkTransaction(tried),
    ...(tried.readsStandby ? [readsStandby] : []),
  ];
}

const readsStandby = checkNamed('Reads').warning(
  "The app's own reads go to a standby, which may not have yet what was just answered. The kit asks the primary.",
  'Read by client.$primary() what a page shows behind a submit.',
);

/** The fault where a role may not look into the schema of the tables, and the remedy. */
export const withoutSchema = (user: string, schema: string): [says: string, fix: string] => [
  `The database role ${user} may not look into the schema ${schema}, where the kit's tables are.`,
  `GRANT USAGE ON SCHEMA ${schema} TO ${user}`,
];

async function closedSchema(sql: Queryable, user: string, rename: Rename): Promise<string | undefined> {
  const { rows } = await sql.query(
    `SELECT quote_ident(nspname) AS schema FROM pg_class JOIN pg_namespace ON pg_namespace.oid = relnamespace
      WHERE pg_class.oid = to_regclass($1) AND NOT has_schema_privilege((parse_ident($2))[1]::name, relnamespace, 'USAGE')`,
    [rename('idempotency_keys'), user],
  );
  return rows[0]?.schema;
}

function checkClaim(tried: TriedClaim, inTheWay: readonly string[]): Finding {
  const { refused, user, lacking, keyTable, readOnlyBy, hiddenBy, ignored, escapes } = tried;
  if (refused?.state === '25006') {
    return check.problem(
      "The app's client may only read: its transactions are read-only by default.",
      readOnlyBy
        ? withoutSetting('default_transaction_read_only', readOnlyBy, tried)
        : 'Let DATABASE_URL lead to the primary, in a session that may write.',
    );
  }
  if (hasNoArbiter(tried)) {
    return check.problem(
      `Nothing keeps a key from running twice: ${keyTable} has lost its primary key.`,
      `ALTER TABLE ${keyTable} ADD PRIMARY KEY (key, operation, principal, tenant)`,
    );
  }
  if (lacking.length > 0) return checkRights(lacking, user);
  if (hiddenBy.length > 0) {
    return check.problem(
      `Row-level security hides ${hiddenBy.join(', ')} from ${user}, whom the app's client acts as.`,
      hiddenBy.map((table) => `CREATE POLICY oncekit ON ${table} TO ${user} USING (true)`).join('; '),
    );
  }
  if (escapes) {
    return check.problem(
      `An extension of the app's client takes queries out of their transaction. ${escapes}`,
      "In the extension ask query(args), not the client that it has captured, and let errors of $transaction through. Or give the client a pool of the kit's, or wrap what is to stay in outside(() => …).",
    );
  }
  if (ignored || refused) {
    const says = ignored
      ? `${keyTable} takes the ${ignored} of a key without an error, and does nothing.`
      : `A claim of a key fails: ${errorLine({ message: refused?.says })}.`;
    const mends = inTheWay.length > 0 ? inTheWay.join('; ') : `Mend what it says, at ${keyTable}.`;
    return check.problem(says, mends);
  }
  return check.ok('It claims, completes and replays a key where DATABASE_URL leads (tried, and rolled back).');
}

/** Statements that drop the rules and triggers of the key table that are not the kit's. */
async function strangersOn(sql: Queryable, rename: Rename): Promise<string[]> {
  const { rows } = await sql.query(
    `SELECT format('DROP RULE %I ON %s', rulename, ev_class::regclass) AS mend FROM pg_rewrite WHERE ev_class = to_regclass($1)
     UNION ALL
     SELECT format('DROP TRIGGER %I ON %s', tgname, tgrelid::regclass)
       FROM pg_trigger JOIN pg_proc ON pg_proc.oid = tgfoid
      WHERE tgrelid = to_regclass($1) AND NOT tgisinternal AND proname NOT LIKE 'oncekit%'`,
    [rename('idempotency_keys')],
  );
  return rows.map(({ mend }) => mend);
}

/** Tells by the server's answer to ON CONFLICT that there is no unique index, one that is deferred, or none that was obeyed. */
function hasNoArbiter({ refused, ignored }: TriedClaim): boolean {
  return refused?.state === '42P10' || refused?.state === '55000' || ignored === 'unique index';
}

function checkRights(lacking: TriedClaim['lacking'], user: string): Finding {
  // One GRANT for all objects that lack the same.
  const byRights = new Map<string, string[]>();
  for (const { on, rights } of lacking) {
    const kind = `${rights.join(', ')}${on.startsWith('SEQUENCE ') ? ' ON SEQUENCE ' : ' ON '}`;
    byRights.set(kind, [...(byRights.get(kind) ?? []), on.replace(/^SEQUENCE /, '')]);
  }
  const all = [...byRights].map(([kind, names]) => `${kind}${names.join(', ')}`);
  return check.problem(
    `The app's client acts as ${user}, who lacks ${[...byRights].map(([kind, names]) => `${kind}${some(names)}`).join(', and ')}.`,
    all.map((each) => `GRANT ${each} TO ${user}`).join('; '),
  );
}

const some = ([first = '', ...more]: string[]) =>
  more.length > 1 ? `${first} and ${more.length} more` : [first, ...more].join(', ');

function checkLevel(tried: TriedClaim, { level, source }: NonNullable<TriedClaim['strictBy']>): Finding {
  return check.warning(
    `Transactions are ${level} by default: executions set their own level, but the worker and the status route then fail now and then, and are tried again.`,
    withoutSetting('default_transaction_isolation', source, tried),
  );
}

/** What a setting was given to, by `pg_settings.source`; undefined where it is no role and no database. */
function holderOf(source: string, user: string, database: string): string | undefined {
  if (source === 'user') return `ROLE ${user}`;
  if (source === 'database') return `DATABASE ${database}`;
  return source === 'database user' ? `ROLE ${user} IN DATABASE ${database}` : undefined;
}

function withoutSetting(name: string, source: string, { user, quotedDatabase }: TriedClaim): string {
  const holder = holderOf(source, user, quotedDatabase);
  // What forbids writing, forbids the remedy as well.
  if (holder) return `BEGIN READ WRITE; ALTER ${holder} RESET ${name}; COMMIT`;
  if (source === 'client') return `Take ${name} out of the connection's options.`;
  if (source === 'session') return `Take SET ${name} out of what the client's connections begin with.`;
  return `ALTER SYSTEM SET ${name} = DEFAULT, then SELECT pg_reload_conf()`;
}

const TRANSACTIONS = {
  own: "The kit's own, which whatever a handler asks of the client is part of.",
  interactive: "Prisma's interactive one, as createIdempotency is told.",
};

/** Tells whose transaction an execution is, and what is lost where it is Prisma's though nobody has asked for that, or unseen. */
function checkTransaction({ transactions, whyNotOwn, whyUnproven }: TriedClaim): Finding {
  const check = checkNamed('Transaction');
  if (whyUnproven)
    return check.warning(`Prisma's interactive one. ${whyUnproven.message}`, `Use ${whyUnproven.expected}.`);
  if (!whyNotOwn) return check.ok(TRANSACTIONS[transactions]);
  return check.warning(
    `Prisma's interactive one: what a handler writes by the client's global name, and not by tx, is refused. ${whyNotOwn.message}`,
    `Where the client is made, use ${whyNotOwn.expected}.`,
  );
}

// A superuser is a member of every role.
const ROLE = `
SELECT quote_ident(current_user) AS "user", quote_ident(current_database()) AS database, rolsuper AS "isSuperuser",
       ARRAY(SELECT pg_class.oid::regclass::text FROM unnest($1::text[]) AS called
               JOIN pg_class ON pg_class.oid = to_regclass(called) WHERE pg_has_role(relowner, 'MEMBER') ORDER BY 1) AS owned,
       (SELECT source FROM pg_settings WHERE name = 'session_replication_role' AND setting = 'replica') AS "silentBy"
  FROM pg_roles WHERE rolname = current_user`;

interface Role {
  user: string;
  database: string;
  isSuperuser: boolean;
  owned: string[];
  /** The source of the setting by which no trigger fires; null where they do. */
  silentBy: string | null;
}

/**
 * Checks that the role of DATABASE_URL is held by the triggers: they are switched off for nobody, and it can drop none.
 *
 * @param names the kit's tables that are there
 */
export async function checkRole(
  sql: Pick<pg.Client, 'query' | 'host'>,
  names: readonly TableName[],
  rename: Rename = (name) => name,
): Promise<Finding[]> {
  const role: Role = (await sql.query(ROLE, [names.map(rename)])).rows[0];
  return [...checkTriggersFire(role), checkOwner(role, isOnThisMachine(sql.host))];
}

function checkTriggersFire({ user, database, silentBy }: Role): Finding[] {
  if (silentBy === null) return [];
  const holder = holderOf(silentBy, user, database);
  return [
    checkNamed('Role').problem(
      'session_replication_role is replica: none of the triggers fires, and what they hold is held by nobody.',
      holder
        ? `ALTER ${holder} RESET session_replication_role`
        : 'Take session_replication_role out of what says so: the options of the connection, or the server.',
    ),
  ];
}

function checkOwner({ user, isSuperuser, owned: [first, ...more] }: Role, isLocal: boolean): Finding {
  const check = checkNamed('Role');
  if (first === undefined) return check.ok(`${user} owns none of the kit's tables, and cannot drop what holds them.`);
  const is = isSuperuser ? 'is a superuser' : `owns ${first}${more.length > 0 ? ` and ${more.length} more` : ''}`;
  const says = `${user} ${is}: whoever gets hold of its connection can drop the triggers, and change what people did.`;
  if (isLocal) return check.ok(`The database is on this machine. ${says}`);
  return check.warning(
    says,
    'Let the app and its worker connect as a role that owns nothing, and keep this one for migrations.',
  );
}
