import type pg from 'pg';
import { promisesOf } from '../../admin/promises.ts';
import { databaseFacts } from '../../store/prisma/database-facts.ts';
import { renamedClient } from '../../store/prisma/renaming.ts';
import type { Rename } from '../../store/prisma/tables.ts';
import { rawClient } from '../raw-client.ts';
import { checkNamed, type Finding } from './finding.ts';

const check = checkNamed('Durability');

/** What the server is set to promise of an answer. That it is a standby, or read-only, is said by other checks. */
export async function checkDurability(
  sql: pg.Client,
  { rename, replicated }: { rename: Rename | undefined; replicated: readonly string[] },
): Promise<Finding[]> {
  const client = rawClient(sql);
  const facts = await databaseFacts(rename ? renamedClient(client, rename) : client);
  const promises = promisesOf({ ...facts, isStandby: false, isReadOnly: false }, { replicated });
  return promises.map(({ level, says, fix = '' }) => (level === 'ok' ? check.ok(says) : check[level](says, fix)));
}
