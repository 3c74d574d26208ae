import type pg from 'pg';
import { errorLine } from '../../core/printable.ts';
import { isAnswer, isOutage } from '../../store/prisma/errors.ts';
import { grantsTo, type Rename, renamerOf, TABLES_OF, type TableName } from '../../store/prisma/tables.ts';
import { databaseUrl, loadEnv } from '../app/env.ts';
import { folderTree } from '../app/file-tree.ts';
import { APP_HELP, APP_OPTIONS, loadApp } from '../app/loader.ts';
import { type ModulePaths, tablesOf } from '../app/next-app.ts';
import { CliError, type Command, flag, readArgs } from '../command.ts';
import { type Queryable, withDatabase } from '../database.ts';
import { type AppFacts, checkApp, checkWebhooks } from './app.ts';
import { checkClient, checkRole } from './client.ts';
import { checkNamed, type Finding, report, reportForTerminal } from './finding.ts';
import { checkSchema } from './migrations.ts';
import { checkEdge, checkPages } from './pages.ts';
import { checkSecrets } from './secrets.ts';
import { checkDurability, checkPooler, checkServer, checkTls } from './server.ts';
import { checkTables, missingSql } from './tables.ts';
import { checkWindow } from './window.ts';
import { checkWork } from './work.ts';

const help = `oncekit doctor [--json | --sql]

Looks whether the app in this folder, its database and its worker are set up to work together. One line for each check:
ok, warning or problem, and the fix. Changes nothing. Reads .env.local and .env, and loads lib/operations.ts.

  --json                the same as a list, for a script
  --sql                 instead: a script that makes what the kit's tables lack, and touches nothing that is there
${APP_HELP}

Ends with 1 when there is a problem, else with 0.`;

async function run(args: string[]): Promise<number> {
  const { values } = readArgs(args, { json: flag, sql: flag, ...APP_OPTIONS });
  if (values.sql) {
    console.log(await scriptOfMissing(process.cwd()));
    return 0;
  }
  const findings = await examine(process.cwd(), values);
  const { isTTY, columns = 80 } = process.stdout;
  const words = () => (isTTY ? reportForTerminal(findings, columns) : report(findings));
  console.log(values.json ? JSON.stringify(findings, null, 2) : words());
  return findings.some(({ level }) => level === 'problem') ? 1 : 0;
}

/** A script for what the database lacks of the kit's tables; that of messaging only where some of it is there. */
async function scriptOfMissing(root: string): Promise<string> {
  loadEnv(root);
  const rename = renamerOf(tablesOf(folderTree(root)));
  return await withDatabase(databaseUrl(), async (sql) => {
    const [, messaging] = await checkSchema(sql, rename);
    const names: TableName[] = messaging ? [...TABLES_OF.keys, ...TABLES_OF.messaging] : [...TABLES_OF.keys];
    return (await missingSql(sql, names, rename)) || '-- Nothing is lacking.';
  });
}

/** The words in which the kit refuses them while the app is loaded. */
const OF_A_RETENTION = /Rows would be deleted/;
const OF_A_SECRET = /createIdempotency\(\{ secret \}\)|Secret number \d+/;

/** Every check on the app in a folder. What is broken is a finding; only a bug is thrown. */
export async function examine(root: string, given: ModulePaths = {}, load = loadApp): Promise<Finding[]> {
  loadEnv(root);
  const tree = folderTree(root);
  const facts = await checkApp(tree, given, () => load(root, tree, given));
  const { idempotency } = facts;
  const secrets = checkSecrets({ ...facts, setUp: idempotency?.setUp, env: process.env, root, tree });
  const rename = renamerOf({ schema: idempotency?.schemaName?.(), ...tablesOf(tree) });
  const isSaid = secrets.some(({ level }) => level === 'problem');
  return [
    ...(await onDatabase(facts, rename)),
    ...secrets,
    ...facts.findings.filter(({ check, says }) => !(isSaid && check === 'App' && OF_A_SECRET.test(says))),
    ...checkWebhooks(tree),
    ...(facts.app ? [...checkEdge(tree, facts.app), ...checkPages(tree, facts.app.router)] : []),
  ];
}

async function onDatabase(facts: AppFacts, rename?: Rename): Promise<Finding[]> {
  const findings: Finding[] = [];
  try {
    const url = databaseUrl();
    await withDatabase(url, (sql) => checkDatabase(sql, url, facts, findings, rename));
  } catch (error) {
    findings.push(checkNamed('Database').problem(...withoutAnswer(error)));
  }
  return findings;
}

/** Adds to the findings as it goes on, so that none is lost where the database refuses a later question. */
async function checkDatabase(sql: pg.Client, url: string, facts: AppFacts, findings: Finding[], rename?: Rename) {
  findings.push(...(await checkServer(sql)), checkTls(sql, url));
  findings.push(await checkPooler(sql, url, process.env.DIRECT_URL));
  const schema = await checkSchema(sql, rename);
  findings.push(...schema);
  const [keys, messaging] = schema;
  const hasMessaging = messaging !== undefined && messaging.level !== 'problem';
  const isCurrent = (one: Finding | undefined) => one?.level === 'ok';
  const names = [
    ...(isCurrent(keys) ? TABLES_OF.keys : []),
    ...(isCurrent(messaging) ? TABLES_OF.messaging : []),
  ] as TableName[];
  const { replicated } = facts;
  const { tryClaim, setUp } = facts.idempotency ?? {};
  const tables = names.length > 0 ? await checkTables(sql, names, rename) : [];
  findings.push(...tables);
  if (names.length > 0) findings.push(...(await checkRole(sql, names, rename)));
  const isLost = tables.some(({ level }) => level === 'problem');
  const client = tryClaim ? await checkClient(sql, tryClaim, { rename, isLost }) : [];
  findings.push(...client);
  // The following checks read the tables, which must be there, and readable.
  if (keys?.level === 'problem' || client.some(({ level }) => level === 'problem')) return;
  const renamed: Queryable = rename ? { query: (text, values) => sql.query(rename(text), values) } : sql;
  findings.push(...(await checkDurability(sql, { rename, replicated })));
  const isRefused = facts.findings.some(({ says }) => OF_A_RETENTION.test(says));
  const window = setUp ?? (isRefused ? undefined : facts.window);
  if (window) findings.push(await checkWindow(renamed, window));
  findings.push(...(await checkWork(renamed, { ...facts, hasMessaging })));
}

/** The fault of a database that does not answer, or not to the end, and the remedy. A bug is thrown. */
function withoutAnswer(error: unknown): [says: string, fix: string] {
  if (error instanceof CliError) return [error.message, error.fix ?? ''];
  if (isOutage(error)) return [`It stopped to answer: ${errorLine(error)}.`, 'Look at the network to it.'];
  if (!isAnswer(error)) throw error;
  const rights = grantsTo('<user>').join('; ');
  return [
    `It refuses to answer: ${errorLine(error)}.`,
    `Give the user of DATABASE_URL the rights that the kit needs: ${rights}`,
  ];
}

export const doctor: Command = { help, run };
