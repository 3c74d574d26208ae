import type pg from 'pg';
import { isOutage } from '../../store/prisma/outage.ts';
import { type Rename, renamerOf } from '../../store/prisma/tables.ts';
import { isAnswer } from '../../store/prisma/wire/encoding.ts';
import { databaseUrl, loadEnv } from '../app/env.ts';
import { folderTree } from '../app/file-tree.ts';
import { APP_HELP, APP_OPTIONS, loadApp, type ModulePaths } from '../app/loader.ts';
import { tablesOf } from '../app/next-app.ts';
import { readArgs } from '../arguments.ts';
import { CliError, type Command } from '../command.ts';
import { closeDatabase, openDatabase, reasonOf, type Sql } from '../database.ts';
import { type AppFacts, checkApp } from './app.ts';
import { checkClient } from './client.ts';
import { checkSchema, checkServer } from './database.ts';
import { checkDurability } from './durability.ts';
import { checkNamed, type Finding, report } from './finding.ts';
import { checkPages } from './pages.ts';
import { checkPooler } from './pooler.ts';
import { checkSecrets } from './secrets.ts';
import { checkTls } from './tls.ts';
import { checkWebhooks } from './webhooks.ts';
import { checkWindow } from './window.ts';
import { checkWork } from './work.ts';

const help = `oncekit doctor [--json]

Looks whether the app in this folder, its database and its worker are set up to work together. One line for each check:
ok, warning or problem, and the fix. Changes nothing. Reads .env.local and .env, and loads lib/operations.ts.

  --json                the same as a list, for a script
${APP_HELP}

Ends with 1 when there is a problem, else with 0.`;

async function run(args: string[]): Promise<number> {
  const { values } = readArgs(args, { json: { type: 'boolean' }, ...APP_OPTIONS });
  const findings = await examine(process.cwd(), values);
  console.log(values.json ? JSON.stringify(findings, null, 2) : report(findings));
  return findings.some(({ level }) => level === 'problem') ? 1 : 0;
}

/** Every check on the app in a folder. What is broken is a finding; only a bug is thrown. */
export async function examine(root: string, given: ModulePaths = {}, load = loadApp): Promise<Finding[]> {
  loadEnv(root);
  const tree = folderTree(root);
  const facts = await checkApp(tree, given, () => load(root, tree, given));
  return [
    ...(await onDatabase((sql, url) => checkDatabase(sql, url, facts, renamerOf(tablesOf(tree))))),
    ...checkSecrets(process.env),
    ...facts.findings,
    ...checkWebhooks(tree),
    ...(facts.app ? checkPages(tree, facts.app.router) : []),
  ];
}

async function checkDatabase(sql: pg.Client, url: string, facts: AppFacts, rename?: Rename): Promise<Finding[]> {
  const schema = await checkSchema(sql, rename);
  const findings = [
    ...(await checkServer(sql)),
    checkTls(sql, url),
    await checkPooler(sql, url, process.env.DIRECT_URL),
    ...schema,
  ];
  const { tryClaim } = facts;
  if (tryClaim) findings.push(...(await checkClient(sql, tryClaim, rename)));
  // The following checks read the tables.
  if (schema[0]?.level === 'problem') return findings;
  const hasMessaging = schema[1] !== undefined && schema[1].level !== 'problem';
  const { needsWorker, hasCron, replicated } = facts;
  const renamed: Sql = rename ? { query: (text, values) => sql.query(rename(text), values) } : sql;
  findings.push(...(await checkDurability(sql, { rename, replicated })));
  if (facts.window) findings.push(await checkWindow(renamed, facts.window));
  return [...findings, ...(await checkWork(renamed, { hasMessaging, needsWorker, hasCron }))];
}

async function onDatabase(look: (sql: pg.Client, url: string) => Promise<Finding[]>): Promise<Finding[]> {
  try {
    const url = databaseUrl();
    const sql = await openDatabase(url);
    try {
      return await look(sql, url);
    } finally {
      await closeDatabase(sql);
    }
  } catch (error) {
    const check = checkNamed('Database');
    if (error instanceof CliError) return [check.problem(error.message, error.fix ?? '')];
    if (isOutage(error))
      return [check.problem(`It stopped to answer: ${reasonOf(error)}.`, 'Look at the network to it.')];
    if (!isAnswer(error)) throw error;
    return [
      check.problem(
        `It refuses to answer: ${reasonOf(error)}.`,
        'Give the user of DATABASE_URL the right to read the tables.',
      ),
    ];
  }
}

export const doctor: Command = { help, run };
