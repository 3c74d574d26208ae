import type pg from 'pg';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { markOf, SCHEMA_VERSIONS } from '../../store/prisma/keys/schema.ts';
import {
  type Broken,
  bySql,
  clinic,
  edit,
  type Patient,
  printedSql,
  runsInit,
  runsItsSql,
  wrong,
} from './broken.fixture.ts';

// Each case breaks a real database in one way, and examines a real app on it. Doctor must find that and nothing else, and
// nothing at all once its fix was carried out, word for word.

let doctor: Awaited<ReturnType<typeof clinic>>;
beforeAll(async () => {
  doctor = await clinic();
});
afterAll(() => doctor?.close());

const KEY = "'c', 'k', 'b', 'a'";
const row = (key: string) =>
  `INSERT INTO idempotency_keys (operation, key, principal, tenant, state, settled_at, expires_at)
   VALUES (${key}, 'succeeded', now(), now() + interval '25 h')`;
const withoutKey = 'ALTER TABLE idempotency_keys DROP CONSTRAINT idempotency_keys_pkey';
const COLUMNS = '(key, operation, principal, tenant)';
const NOTHING_KEEPS = 'Nothing keeps a key from running twice: idempotency_keys has no valid unique index';

/** Runs each by itself: CONCURRENTLY takes no transaction. One may fail, as it does in life. */
const runs =
  (...statements: string[]) =>
  async ({ sql }: Patient) => {
    for (const statement of statements) {
      const isToFail = statement.startsWith('FAILS ');
      const ran = sql(statement.replace(/^FAILS /, ''));
      await (isToFail ? expect(ran).rejects.toThrow() : ran);
    }
  };

/** The app, and DATABASE_URL with it, acts as a role of its own. */
const asRole =
  (...statements: string[]) =>
  async (patient: Patient) => {
    const role = `ward_${process.pid}_${Math.random().toString(36).slice(2)}`;
    await patient.sql(`CREATE ROLE ${role} LOGIN PASSWORD '${role}'`);
    await patient.sql(`GRANT SELECT, INSERT, UPDATE, DELETE ON ALL TABLES IN SCHEMA public TO ${role};
    GRANT USAGE ON ALL SEQUENCES IN SCHEMA public TO ${role}`);
    for (const statement of statements)
      await patient.sql(statement.replaceAll('$role', role).replaceAll('$database', nameOf(patient)));
    patient.env.DATABASE_URL = Object.assign(new URL(patient.database.url), { username: role, password: role }).href;
  };

const nameOf = ({ database }: Patient) => new URL(database.url).pathname.slice(1);
const withOptions = (options: string) => (patient: Patient) => {
  patient.env.DATABASE_URL = `${patient.database.url}?options=${encodeURIComponent(options)}`;
};

/** The key table in partitions (docs/deployment.md). */
async function divideKeys({ sql }: Patient) {
  const { rows } = (await sql(`SELECT pg_get_triggerdef(oid) AS made FROM pg_trigger
    WHERE tgrelid = 'idempotency_keys'::regclass AND NOT tgisinternal`)) as pg.QueryResult<{ made: string }>;
  for (const statement of [
    'ALTER TABLE idempotency_keys RENAME TO whole',
    `CREATE TABLE idempotency_keys (LIKE whole INCLUDING ALL) PARTITION BY HASH (key)`,
    'CREATE TABLE keys_0 PARTITION OF idempotency_keys FOR VALUES WITH (MODULUS 1, REMAINDER 0)',
    'DROP TABLE whole',
    ...rows.map(({ made }) => made),
    `COMMENT ON TABLE idempotency_keys IS '${markOf(SCHEMA_VERSIONS.keys)}'`,
  ]) {
    await sql(statement);
  }
}

const BROKEN: Broken[] = [
  {
    of: 'a key table without its primary key',
    breaks: runs(withoutKey),
    found: ['Tables', 'problem', NOTHING_KEEPS],
    mend: bySql,
  },
  {
    of: 'an index of that name that is not unique',
    breaks: runs(withoutKey, `CREATE INDEX idempotency_keys_pkey ON idempotency_keys ${COLUMNS}`),
    found: ['Tables', 'problem', NOTHING_KEEPS],
    mend: bySql,
  },
  {
    of: 'an invalid unique index, left by CREATE INDEX CONCURRENTLY',
    breaks: runs(
      withoutKey,
      row(KEY),
      row(KEY),
      `FAILS CREATE UNIQUE INDEX CONCURRENTLY idempotency_keys_pkey ON idempotency_keys ${COLUMNS}`,
      'DELETE FROM idempotency_keys',
    ),
    found: ['Tables', 'problem', NOTHING_KEEPS],
    mend: bySql,
  },
  {
    of: 'keys that are there twice',
    breaks: runs(withoutKey, row(KEY), row(KEY)),
    found: ['Tables', 'problem', /^Nothing keeps a key .* 1 key is there twice already\.$/],
    mend: bySql,
  },
  {
    of: 'a primary key that is checked at COMMIT',
    breaks: runs(withoutKey, `ALTER TABLE idempotency_keys ADD PRIMARY KEY ${COLUMNS} DEFERRABLE INITIALLY DEFERRED`),
    found: ['Tables', 'problem', NOTHING_KEEPS],
    mend: bySql,
  },
  {
    of: 'a primary key of other columns',
    breaks: runs(withoutKey, 'ALTER TABLE idempotency_keys ADD COLUMN id bigserial PRIMARY KEY'),
    found: ['Tables', 'problem', NOTHING_KEEPS],
    mend: bySql,
  },
  {
    of: 'an inbox without its primary key',
    breaks: runs('ALTER TABLE inbox_events DROP CONSTRAINT inbox_events_pkey'),
    found: ['Tables', 'problem', 'inbox_events has no valid unique index on (source, event_id)'],
    mend: bySql,
  },
  {
    of: 'an outbox without the unique index of its announcements',
    breaks: runs('DROP INDEX outbox_events_derived_key_key'),
    found: ['Tables', 'problem', 'outbox_events has no valid unique index on (derived_key)'],
    mend: bySql,
  },
  {
    of: 'things without their primary key',
    breaks: runs('ALTER TABLE idempotency_things DROP CONSTRAINT idempotency_things_pkey'),
    found: ['Tables', 'problem', 'idempotency_things has no valid unique index on (thing, operation, tenant)'],
    mend: bySql,
  },
  {
    of: 'an unlogged key table',
    breaks: runs('ALTER TABLE idempotency_keys SET UNLOGGED'),
    found: ['Tables', 'problem', 'idempotency_keys is unlogged'],
    mend: bySql,
  },
  {
    of: 'a trigger that is switched off',
    breaks: runs('ALTER TABLE idempotency_keys DISABLE TRIGGER idempotency_keys_deleted'),
    found: ['Tables', 'problem', 'The trigger idempotency_keys_deleted of idempotency_keys is switched off'],
    mend: bySql,
  },
  {
    of: 'a trigger that is gone',
    breaks: runs('DROP TRIGGER idempotency_keys_rules ON idempotency_keys'),
    found: ['Tables', 'problem', 'idempotency_keys has lost the trigger idempotency_keys_rules.'],
    mend: bySql,
  },
  ...['unchanged', 'kept'].map(
    (which): Broken => ({
      of: `a record without its trigger ${which}`,
      breaks: runs(`DROP TRIGGER idempotency_audit_${which} ON idempotency_audit`),
      found: ['Tables', 'problem', `idempotency_audit has lost the trigger idempotency_audit_${which}.`],
      mend: bySql,
    }),
  ),
  {
    of: 'a trigger whose function does something else',
    breaks: runs(
      "CREATE OR REPLACE FUNCTION oncekit_step_rules() RETURNS trigger LANGUAGE plpgsql AS 'BEGIN RETURN NEW; END'",
    ),
    found: ['Tables', 'problem', 'The function of the trigger idempotency_phases_rules of idempotency_phases is not'],
    mend: async (patient, fix) => {
      await patient.sql(fix);
      const settings = "SELECT proconfig FROM pg_proc WHERE proname = 'oncekit_step_rules'";
      expect(await patient.sql(settings)).toMatchObject({ rows: [{ proconfig: ['search_path=pg_catalog, pg_temp'] }] });
    },
  },
  ...['RESET search_path', 'SET search_path = public'].map(
    (change): Broken => ({
      of: `a trigger's function with ${change}`,
      breaks: runs(`ALTER FUNCTION oncekit_key_rules() ${change}`),
      found: ['Tables', 'problem', /function of the trigger idempotency_keys_rules .* search_path/],
      mend: bySql,
    }),
  ),
  ...Object.entries({
    'no row': ['idempotency_audit_kept', 'DELETE', 'ROW WHEN (false)', 'append_only()'],
    'younger rows': [
      'idempotency_audit_kept',
      'DELETE',
      "ROW WHEN (OLD.at > statement_timestamp() - INTERVAL '71 hours')",
      'append_only()',
    ],
    'fewer kinds': ['message_events_kept', 'DELETE', "ROW WHEN (OLD.type IN ('skipped'))", 'append_only()'],
    'one column': ['idempotency_phases_rules', 'INSERT OR UPDATE OF kind', 'ROW', 'step_rules()'],
    'another table': ['idempotency_keys_truncated', 'TRUNCATE', 'STATEMENT', "delete_steps('idempotency_events')"],
  }).map(([what, [name = '', event = '', each = '', calls = '']]): Broken => {
    const table = name.replace(/_[a-z]+$/, '');
    const moment = event === 'TRUNCATE' ? 'AFTER' : 'BEFORE';
    return {
      of: `a trigger that holds ${what}`,
      breaks: runs(
        `CREATE OR REPLACE TRIGGER ${name} ${moment} ${event} ON ${table} FOR EACH ${each} EXECUTE FUNCTION oncekit_${calls}`,
      ),
      found: ['Tables', 'problem', `The trigger ${name} of ${table} is not the kit's`],
      mend: bySql,
    };
  }),
  {
    of: 'a role that cannot have the conditions compared',
    breaks: asRole('REVOKE TEMPORARY ON DATABASE $database FROM PUBLIC'),
    found: ['Tables', 'warning', 'Whether triggers fire for the rows that they are for was not looked at'],
    mend: (patient, fix) => {
      expect(fix).toContain("as a role that may make temporary tables, such as the tables' owner");
      patient.env = {};
    },
  },
  {
    of: 'a role for which no trigger fires',
    breaks: asRole('ALTER ROLE $role SET session_replication_role = replica'),
    found: ['Role', 'problem', 'session_replication_role is replica: none of the triggers fires'],
    mend: bySql,
  },
  {
    of: 'a trigger that is gone with its function',
    breaks: runs('DROP FUNCTION oncekit_step_rules CASCADE'),
    found: ['Tables', 'problem', 'idempotency_phases has lost the trigger idempotency_phases_rules.'],
    mend: runsItsSql,
  },
  {
    of: 'an index that is gone',
    breaks: runs('DROP INDEX idempotency_keys_next_attempt_at_idx'),
    found: ['Tables', 'warning', 'idempotency_keys has lost the index idempotency_keys_next_attempt_at_idx'],
    mend: bySql,
  },
  {
    of: 'an index that a failed command has left',
    breaks: runs(
      row(`'c', 'k', 'b', 'a'`),
      row(`'c', 'l', 'b', 'a'`),
      'FAILS CREATE UNIQUE INDEX CONCURRENTLY left_over ON idempotency_keys (operation)',
    ),
    found: ['Tables', 'warning', 'The index left_over is invalid, left by a command that failed'],
    mend: bySql,
  },
  {
    of: 'a trigger that takes claims without a word',
    breaks: runs(
      `CREATE FUNCTION quiet() RETURNS trigger LANGUAGE plpgsql AS 'BEGIN RETURN NULL; END'`,
      'CREATE TRIGGER quiet BEFORE INSERT ON idempotency_keys FOR EACH ROW EXECUTE FUNCTION quiet()',
    ),
    found: ['Client', 'problem', 'idempotency_keys takes the claim of a key without an error, and does nothing.'],
    mend: bySql,
  },
  {
    of: 'a role that may only read',
    breaks: asRole('REVOKE INSERT, UPDATE, DELETE ON ALL TABLES IN SCHEMA public FROM $role'),
    found: [
      'Client',
      'problem',
      /^The app's client acts as ward_\w+, who lacks INSERT, UPDATE, DELETE ON \w+ and 7 more, and INSERT, DELETE ON \w+ and 3 more\.$/,
    ],
    mend: bySql,
  },
  {
    of: 'a role that may do nothing',
    breaks: asRole('REVOKE ALL ON ALL TABLES IN SCHEMA public FROM $role'),
    found: ['Client', 'problem', /who lacks SELECT, INSERT, UPDATE, DELETE ON/],
    mend: bySql,
  },
  ...['INSERT', 'UPDATE', 'DELETE'].map(
    (right): Broken => ({
      of: `a role without ${right}`,
      breaks: asRole(`REVOKE ${right} ON idempotency_phases FROM $role`),
      found: ['Client', 'problem', new RegExp(`who lacks ${right} ON idempotency_phases\\.$`)],
      mend: bySql,
    }),
  ),
  {
    of: 'a role that may not use a sequence',
    breaks: asRole('REVOKE ALL ON SEQUENCE idempotency_events_id_seq FROM $role'),
    found: ['Client', 'problem', /who lacks USAGE ON SEQUENCE idempotency_events_id_seq\.$/],
    mend: bySql,
  },
  {
    of: 'a role that may not look into the schema',
    breaks: asRole('REVOKE USAGE ON SCHEMA public FROM PUBLIC'),
    found: ['Migrations', 'problem', /^The database role ward_\w+ may not look into the schema public/],
    mend: bySql,
  },
  {
    of: 'row-level security',
    breaks: asRole('ALTER TABLE idempotency_keys ENABLE ROW LEVEL SECURITY'),
    found: ['Client', 'problem', /^Row-level security hides idempotency_keys from ward_\w+/],
    mend: bySql,
  },
  ...Object.entries({
    'the role': 'ALTER ROLE $role SET',
    'the database': 'ALTER DATABASE $database SET',
    both: 'ALTER ROLE $role IN DATABASE $database SET',
  }).flatMap(([whose, alter]): Broken[] => [
    {
      of: `read-only transactions, a setting of ${whose}`,
      breaks: asRole(`${alter} default_transaction_read_only = on`),
      found: ['Client', 'problem', "The app's client may only read"],
      mend: bySql,
    },
    {
      of: `serializable transactions, a setting of ${whose}`,
      breaks: asRole(`${alter} default_transaction_isolation = 'serializable'`),
      found: ['Client', 'warning', 'Transactions are serializable by default'],
      mend: bySql,
    },
  ]),
  ...Object.entries({ default_transaction_read_only: 'on', default_transaction_isolation: 'serializable' }).map(
    ([name, value]): Broken => ({
      of: `${name}, by the address`,
      breaks: withOptions(`-c ${name}=${value}`),
      found: ['Client', value === 'on' ? 'problem' : 'warning', /by default/],
      mend: (patient, fix) => {
        expect(fix).toBe(`Take ${name} out of the connection's options.`);
        patient.env = {};
      },
    }),
  ),
  {
    of: 'serializable transactions, by what connections begin with',
    breaks: async (patient) => {
      patient.files = edit(patient.files, 'lib/prisma.ts', /[\s\S]+/, ONCONNECT);
    },
    found: ['Client', 'warning', 'Transactions are serializable by default'],
    mend: (patient, fix) => {
      expect(fix).toBe("Take SET default_transaction_isolation out of what the client's connections begin with.");
      patient.files = edit(patient.files, 'lib/prisma.ts', /pool\.on.*/, '');
    },
  },
  {
    of: 'a client on another database than DATABASE_URL',
    breaks: (patient) => {
      const other = Object.assign(new URL(patient.database.url), { pathname: '/postgres' }).href;
      patient.files = edit(patient.files, 'lib/prisma.ts', 'process.env.DATABASE_URL as string', `'${other}'`);
    },
    found: [
      'Client',
      'problem',
      /^The app's client is on the database postgres, and DATABASE_URL leads to oncekit_test_/,
    ],
    mend: (patient, fix) => {
      expect(fix).toContain('process.env.DATABASE_URL');
      patient.files = edit(patient.files, 'lib/prisma.ts', /'postgres.*'/, 'process.env.DATABASE_URL as string');
    },
  },
  {
    of: 'a table that is missing, though its migration has run',
    breaks: runs('DROP TABLE idempotency_audit'),
    found: ['Migrations', 'problem', 'A table is missing: idempotency_audit.'],
    mend: runsItsSql,
  },
  {
    of: 'a table that is in another schema',
    breaks: runs('CREATE SCHEMA shop', 'ALTER TABLE idempotency_tallies SET SCHEMA shop'),
    found: ['Migrations', 'problem', 'The table idempotency_tallies is in the schema shop'],
    mend: bySql,
  },
  {
    of: 'all tables in another schema',
    breaks: runs(
      'CREATE SCHEMA shop',
      ...['keys', 'phases', 'events', 'tallies', 'audit', 'things'].map(
        (name) => `ALTER TABLE idempotency_${name} SET SCHEMA shop`,
      ),
    ),
    found: ['Migrations', 'problem', 'The table idempotency_keys is in the schema shop'],
    mend: (patient, fix) => {
      const [, tables] = /^Say (tables: \{ schema: 'shop' \}) to createIdempotency/.exec(fix) ?? [];
      const call = 'createIdempotency({';
      patient.files = edit(patient.files, 'lib/idempotency.ts', call, `${call} ${tables},`);
    },
  },
  {
    of: 'tables of `prisma db push`',
    breaks: runs(
      'COMMENT ON TABLE idempotency_keys IS NULL',
      'DROP TRIGGER idempotency_keys_rules ON idempotency_keys; DROP INDEX idempotency_keys_next_attempt_at_idx',
    ),
    found: ['Migrations', 'problem', "The tables do not say that the kit's migration made them"],
    mend: async (patient, fix) => {
      const [, drop = ''] = /(DROP TABLE [^;]+);/.exec(fix) ?? [];
      await patient.sql(drop);
      await runsItsSql(patient, fix);
    },
  },
  {
    of: 'an app of `prisma db push` without the tables',
    breaks: runs(
      'DROP TABLE _prisma_migrations, idempotency_keys, idempotency_phases, idempotency_events, idempotency_tallies, idempotency_audit, idempotency_things',
    ),
    found: ['Migrations', 'problem', "The kit's tables are not there."],
    mend: async (patient, fix) => {
      expect(fix).toMatch(/^npx oncekit init, then /);
      await runsInit(patient);
      await runsItsSql(patient, fix);
    },
  },
  {
    of: 'a key that was begun by an operation that is gone',
    breaks: runs(
      `INSERT INTO idempotency_keys (operation, key, principal, tenant, state, expires_at, claimed_at, lease_until, next_attempt_at)
       VALUES ('pay', 'k', 'b', 'a', 'in_progress', now() + interval '2 days', now() - interval '1 h', now() - interval '1 h',
               now() - interval '1 h')`,
    ),
    found: ['Worker', 'problem', '1 unfinished key of pay waits for an operation of that name, and none is listed.'],
    mend: async (patient, fix) => {
      expect(fix).toMatch(/^List pay in lib\/operations\.ts again/);
      const pay = `import { z } from 'zod';
import { idempotency } from './idempotency';
export const pay = idempotency.operation({ name: 'pay', schema: z.any() }).phases(async ({ atomic }) => atomic('a', async () => 1));
`;
      patient.files = { ...patient.files, 'lib/pay.ts': pay };
      patient.files['lib/operations.ts'] =
        `import { pay } from './pay';\n${patient.files['lib/operations.ts']}`.replace('[', '[pay, ');
      await patient.sql(
        "UPDATE idempotency_keys SET state = 'succeeded', settled_at = now(), lease_until = NULL, next_attempt_at = NULL",
      );
      patient.files['vercel.json'] = '{ "crons": [{ "path": "/api/cron/complete" }] }';
    },
  },
];

const ONCONNECT = `import { PrismaPg } from '@prisma/adapter-pg';
import { oncekitPool } from 'oncekit';
import pg from 'pg';
import { createClient } from '${new URL('../../../shop/db.ts', import.meta.url).pathname}';
const pool = oncekitPool(new pg.Pool({ connectionString: process.env.DATABASE_URL }));
pool.on('connect', (client) => void client.query("SET default_transaction_isolation = 'serializable'"));
export const prisma = createClient(process.env.DATABASE_URL as string, { adapter: new PrismaPg(pool) });
`;

test.each(BROKEN.map((each) => [each.of, each] as const))(
  '%s',
  async (_, broken) => {
    await doctor.treat(broken);
  },
  60_000,
);

/** Every row of every table with the transaction that wrote it, every sequence, and every object with its settings. */
const STATE = `
SELECT (SELECT string_agg(query_to_xml(format('SELECT xmin, ctid, t.* FROM %s AS t ORDER BY ctid', oid::regclass), true, true, '')::text, '' ORDER BY oid)
          FROM pg_class WHERE relkind = 'r' AND relnamespace = 'public'::regnamespace)
       || (SELECT string_agg(query_to_xml(format('SELECT last_value, is_called FROM %s', oid::regclass), true, true, '')::text, '' ORDER BY oid)
             FROM pg_class WHERE relkind = 'S' AND relnamespace = 'public'::regnamespace) AS state`;

test('an app that is set up well: nothing is found, and nothing is written', async () => {
  const patient = await doctor.admit();
  try {
    await runs(row(KEY), row(`'d', 'k', 'b', 'a'`))(patient);
    const state = async () => ((await patient.sql(STATE)) as pg.QueryResult).rows[0].state as string;
    const before = await state();
    expect(before).toContain('<operation>c</operation>');
    const findings = await doctor.examine(patient);
    expect(findings.filter(({ level }) => level !== 'ok')).toEqual([]);
    expect(findings).toContainEqual({
      check: 'Client',
      level: 'ok',
      says: expect.stringContaining('tried, and rolled back'),
    });
    expect(await state()).toBe(before);
  } finally {
    await patient.database.drop();
  }
});

test('keys in partitions, and an operation that is done once for a thing: nothing is found, and nothing is printed', async () => {
  const patient = await doctor.admit();
  try {
    await divideKeys(patient);
    const oncePer = "name: 'checkout', oncePer: ({ input }) => input.sku";
    patient.files = edit(patient.files, 'lib/checkout.ts', "name: 'checkout'", oncePer);
    expect(wrong(await doctor.examine(patient))).toEqual([]);
    expect(await printedSql(patient)).toBe('-- Nothing is lacking.\n');
  } finally {
    await patient.database.drop();
  }
}, 60_000);
