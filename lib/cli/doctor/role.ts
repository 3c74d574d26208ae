import type pg from 'pg';
import type { Rename, TableName } from '../../store/prisma/tables.ts';
import { holderOf } from './client.ts';
import { checkNamed, type Finding } from './finding.ts';
import { isOnThisMachine } from './tls.ts';

const check = checkNamed('Role');

// A superuser is a member of every role.
const READ = `
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
  const role: Role = (await sql.query(READ, [names.map(rename)])).rows[0];
  return [...checkTriggersFire(role), checkOwner(role, isOnThisMachine(sql.host))];
}

function checkTriggersFire({ user, database, silentBy }: Role): Finding[] {
  if (silentBy === null) return [];
  const holder = holderOf(silentBy, user, database);
  return [
    check.problem(
      'session_replication_role is replica: none of the triggers fires, and what they hold is held by nobody.',
      holder
        ? `ALTER ${holder} RESET session_replication_role`
        : 'Take session_replication_role out of what says so: the options of the connection, or the server.',
    ),
  ];
}

function checkOwner({ user, isSuperuser, owned: [first, ...more] }: Role, isLocal: boolean): Finding {
  if (first === undefined) return check.ok(`${user} owns none of the kit's tables, and cannot drop what holds them.`);
  const is = isSuperuser ? 'is a superuser' : `owns ${first}${more.length > 0 ? ` and ${more.length} more` : ''}`;
  const says = `${user} ${is}: whoever gets hold of its connection can drop the triggers, and change what people did.`;
  if (isLocal) return check.ok(`The database is on this machine. ${says}`);
  return check.warning(
    says,
    'Let the app and its worker connect as a role that owns nothing, and keep this one for migrations.',
  );
}
