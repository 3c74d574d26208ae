import type pg from 'pg';
import { promisesOf } from '../../admin/promises.ts';
import { databaseFacts } from '../../store/prisma/keys/tallies.ts';
import { type Rename, renamedQueries } from '../../store/prisma/tables.ts';
import { rawClient } from '../raw-client.ts';
import { checkNamed, type Finding } from './finding.ts';

const check = checkNamed('Durability');

/** Checks the server's settings of durability. Other checks tell a standby, or a read-only database. */
export async function checkDurability(
  sql: pg.Client,
  { rename, replicated }: { rename: Rename | undefined; replicated: readonly string[] },
): Promise<Finding[]> {
  const facts = await databaseFacts(renamedQueries(rawClient(sql), rename));
  const promises = promisesOf({ ...facts, isStandby: false, isReadOnly: false }, { replicated });
  return promises.map(({ level, says, fix = '' }) => (level === 'ok' ? check.ok(says) : check[level](says, fix)));
}
