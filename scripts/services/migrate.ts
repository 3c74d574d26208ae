/**
 * Migrations without Prisma's CLI, whose engine is a download: the same engine as WebAssembly, talking through `pg`.
 * It keeps the same history (`_prisma_migrations`), so `prisma migrate deploy` takes over wherever it can run.
 */
import { readdir, readFile } from 'node:fs/promises';
import { createRequire } from 'node:module';
import path from 'node:path';
import { pathToFileURL } from 'node:url';
import { PrismaPg } from '@prisma/adapter-pg';
import { bindMigrationAwareSqlAdapterFactory, ColumnTypeEnum, DriverAdapterError } from '@prisma/driver-adapter-utils';
import type { DiffTarget, MigrationList, SchemaEngine } from '@prisma/schema-engine-wasm';
import { Logger, runMigrations } from 'graphile-worker';
import pg from 'pg';

const prismaFolder = path.resolve(import.meta.dirname, '../../prisma');
export const migrationsFolder = path.join(prismaFolder, 'migrations');
const filters = { externalTables: [], externalEnums: [] };

/**
 * Brings a database up to the newest migration and returns the names of those it applied, oldest first; none when it
 * was up to date. Then the job runner's own schema, so that jobs can be staged before any worker has been there.
 * Processes that migrate at once take turns. `url` must not lead through a pooler in transaction mode.
 */
export async function migrate(url: string): Promise<string[]> {
  const lock = new pg.Client({ connectionString: url, connectionTimeoutMillis: 10_000 });
  lock.on('error', () => {}); // when the server goes away, the engine says it better
  await lock.connect().catch((error) => {
    throw new Error(`No database answers at ${lock.host}:${lock.port}: ${error.message || error.code}`);
  });
  try {
    // Two engines that both read "nothing applied yet" would both create the tables: one would fail half-way.
    await lock.query(`SELECT pg_advisory_lock(hashtextextended('oncekit.migrate', 0))`);
    const applied = await applyMigrations(url, prismaFolder);
    await installJobs(url);
    return applied;
  } finally {
    await lock.end();
  }
}

/**
 * Does as `prisma migrate deploy` for an app whose models and `migrations/` lie in this folder. Returns the names of
 * those it applied, oldest first.
 */
export async function applyMigrations(url: string, folder: string): Promise<string[]> {
  const migrationsList = await readMigrations(path.join(folder, 'migrations'));
  const apply = async (engine: SchemaEngine) => await engine.applyMigrations({ migrationsList, filters });
  return (await withEngine(url, apply, folder)).appliedMigrationNames;
}

/** graphile-worker's schema. On a pool of ours, because it does not wait for the end of its own. */
async function installJobs(url: string): Promise<void> {
  const pgPool = new pg.Pool({ connectionString: url, max: 1 });
  pgPool.on('error', () => {}).on('connect', (client) => client.on('error', () => {})); // its queries reject anyway
  try {
    await runMigrations({ pgPool, logger: new Logger(() => () => {}) });
  } finally {
    await pgPool.end();
  }
}

/** SQL that leads from what the database is to what the Prisma models say; '' when they agree. CHECKs don't count. */
export async function schemaDifference(url: string, folder = prismaFolder): Promise<string> {
  const files = await readModels(folder);
  const from: DiffTarget = { tag: 'schemaDatasource', files, configDir: folder };
  const to: DiffTarget = { tag: 'schemaDatamodel', files };
  const compare = (engine: SchemaEngine) => engine.diff({ from, to, script: true, exitCode: true, filters });
  const diff = await withEngine(url, compare, folder);
  return diff.exitCode === 0 ? '' : (diff.stdout ?? '');
}

async function withEngine<T>(url: string, use: (engine: SchemaEngine) => Promise<T>, folder: string): Promise<T> {
  loading ??= loadEngine();
  const { SchemaEngine } = await loading;
  const datamodels = (await readModels(folder)).map<[string, string]>((file) => [file.path, file.content]);
  const pool = new pg.Pool({ connectionString: url, max: 2 });
  try {
    return await use(await SchemaEngine.new({ datamodels }, () => {}, engineAdapter(pool)));
  } finally {
    await pool.end();
  }
}

// Once for the process: the bindings keep the instance's memory in a variable of their module.
let loading: Promise<typeof import('@prisma/schema-engine-wasm')> | undefined;

/** Puts bindings and code together by hand: the package's own entry needs Node's experimental WebAssembly modules. */
async function loadEngine() {
  const glue = createRequire(import.meta.url).resolve('@prisma/schema-engine-wasm/schema_engine_bg');
  const bindings = await import(pathToFileURL(glue).href);
  const code = await readFile(path.join(path.dirname(glue), 'schema_engine_bg.wasm'));
  const imports = Object.fromEntries(
    Object.entries(bindings).map(([name, value]) => [name, withoutWaiting(name, value)]),
  );
  const { instance } = await WebAssembly.instantiate(code, { './schema_engine_bg.js': imports });
  bindings.__wbg_set_wasm(instance.exports);
  (instance.exports.__wbindgen_start as () => void)();
  return bindings;
}

/** The engine never clears its time limits: as they are, each migration would hold our process for 10 s after its end. */
function withoutWaiting(name: string, value: unknown): WebAssembly.ImportValue {
  if (!name.startsWith('__wbg_setTimeout')) return value as WebAssembly.ImportValue;
  return (run: () => void, ms: number) => setTimeout(run, ms).unref();
}

/** Prisma's own adapter, put right in two places where it cannot carry the engine's work. */
function engineAdapter(pool: pg.Pool) {
  const charColumns = hideCharColumns(pool);
  const factory = new PrismaPg(pool);
  const connect = factory.connect.bind(factory);
  factory.connect = async () => {
    const adapter = await connect();
    const queryRaw = adapter.queryRaw.bind(adapter);
    adapter.queryRaw = async (query) => {
      const result = await queryRaw(query);
      for (const index of charColumns.get(result.rows) ?? []) result.columnTypes[index] = ColumnTypeEnum.Character;
      return result;
    };
    // It would cut the script at every `;`, also inside comments, strings and functions, and run the pieces one by one.
    // Sent whole, a migration is one transaction: it happens or it does not.
    adapter.executeScript = async (script) => {
      await pool.query(script).catch((error) => {
        throw new DriverAdapterError({ kind: 'postgres', ...postgresError(error) });
      });
    };
    return adapter;
  };
  return bindMigrationAwareSqlAdapterFactory(factory);
}

/**
 * To compare schemas the engine reads catalogue columns of type "char" (oid 18), at which the adapter throws. Shows
 * them to the adapter as bpchar, and returns which they were, by their rows.
 */
function hideCharColumns(pool: pg.Pool): WeakMap<object, number[]> {
  const found = new WeakMap<object, number[]>();
  const query = pool.query.bind(pool) as (query: unknown) => Promise<pg.QueryResult | pg.QueryResult[]>;
  const hiding = async (sql: unknown) => {
    const results = await query(sql);
    for (const { fields, rows } of [results].flat()) {
      const columns = fields.filter((field) => field.dataTypeID === 18);
      found.set(
        rows,
        columns.map((field) => fields.indexOf(field)),
      );
      for (const field of columns) field.dataTypeID = 1042;
    }
    return results;
  };
  Object.assign(pool, { query: hiding });
  return found;
}

function postgresError({ code = 'XX000', severity = 'ERROR', message, detail, column, hint }: pg.DatabaseError) {
  return { code, severity, message, detail, column, hint, originalCode: code, originalMessage: message };
}

async function readModels(folder: string) {
  const names = (await readdir(folder)).filter((name) => name.endsWith('.prisma')).sort();
  const paths = names.map((name) => path.join(folder, name));
  return Promise.all(paths.map(async (file) => ({ path: file, content: await readFile(file, 'utf8') })));
}

async function readMigrations(folder: string): Promise<MigrationList> {
  const entries = await readdir(folder, { withFileTypes: true });
  const names = entries.filter((entry) => entry.isDirectory()).map((entry) => entry.name);
  const lockfile = 'migration_lock.toml';
  return {
    baseDir: folder,
    lockfile: { path: lockfile, content: await readFile(path.join(folder, lockfile), 'utf8') },
    shadowDbInitScript: '',
    migrationDirectories: await Promise.all(
      names.sort().map(async (name) => {
        const value = await readFile(path.join(folder, name, 'migration.sql'), 'utf8');
        return { path: name, migrationFile: { path: 'migration.sql', content: { tag: 'ok' as const, value } } };
      }),
    ),
  };
}
