/** Runs the benchmarks that are named, or all. Started by run.ts, so that `oncekit` is the built kit. */
import { AsyncLocalStorage } from 'node:async_hooks';
import { mkdir, writeFile } from 'node:fs/promises';
import { availableParallelism } from 'node:os';
import pg from 'pg';
import setup from '../scripts/testing/vitest-global-setup.ts';
import { admin } from './admin.ts';
import { bytes } from './bytes.ts';
import { callers } from './callers.ts';
import { contexts } from './contexts.ts';
import { first } from './first.ts';
import { handlers } from './handlers.ts';
import { link } from './link.ts';
import { messages } from './messages.ts';
import { otherKeys } from './other-keys.ts';
import { paidCheckout } from './paid-checkout.ts';
import { phases } from './phases.ts';
import { reaper } from './reaper.ts';
import { replay } from './replay.ts';
import { demands, markdown, type Report } from './report.ts';
import { roundTrips } from './round-trips.ts';
import { route } from './route.ts';
import { sameKey } from './same-key.ts';
import { scale } from './scale.ts';
import { things } from './things.ts';
import { wide } from './wide.ts';

const benchmarks: Record<string, () => Promise<Report>> = {
  first,
  handlers,
  wide,
  callers,
  contexts,
  'round-trips': roundTrips,
  link,
  replay,
  'same-key': sameKey,
  route,
  bytes,
  scale,
  reaper,
  'other-keys': otherKeys,
  messages,
  admin,
  phases,
  'paid-checkout': paidCheckout,
  things,
};

/** The settings that the figures hold for. `fsync off` makes COMMIT cheap, for the floors as well: the kit's share then shows most. */
async function surroundings(): Promise<string> {
  const server = new pg.Client({ connectionString: process.env.TEST_DATABASE_URL });
  await server.connect();
  const { rows } = await server.query(
    `SELECT current_setting('server_version') AS version, current_setting('fsync') AS fsync`,
  );
  await server.end();
  const [{ version, fsync }] = rows;
  return `Node ${process.version}, PostgreSQL ${version}, fsync ${fsync}, ${availableParallelism()} cores\n`;
}

async function main(chosen: string[]) {
  const unknown = chosen.filter((name) => !(name in benchmarks));
  if (unknown.length > 0) throw new Error(`No such benchmark: ${unknown}. There are: ${Object.keys(benchmarks)}`);
  const release = await setup();
  try {
    const where = await surroundings();
    const reports: Report[] = [];
    console.log(where);
    for (const name of chosen.length > 0 ? chosen : Object.keys(benchmarks)) {
      console.error(`Running ${name} …`);
      const report = await (benchmarks[name] as () => Promise<Report>)();
      console.log(markdown(report));
      reports.push(report);
      // After each: what was found is kept when a later one fails.
      await write(chosen.length > 0 ? chosen.join('-') : 'latest', where, reports);
    }
    console.log(markdown(demands(reports)));
    if (demands(reports).rows.some(({ met }) => met === false)) process.exitCode = 1;
  } finally {
    await release();
  }
}

async function write(name: string, where: string, reports: Report[]) {
  const results = new URL('./results/', import.meta.url);
  await mkdir(results, { recursive: true });
  await writeFile(new URL(`${name}.md`, results), [where, ...[demands(reports), ...reports].map(markdown)].join('\n'));
  await writeFile(new URL(`${name}.json`, results), `${JSON.stringify({ where, reports }, null, 2)}\n`);
}

// Every Next server uses AsyncLocalStorage, and on Node 20 its first use makes each promise of the process dearer. The
// floors pay for it here, as they do there; else it would count as the kit's.
await new AsyncLocalStorage().run({}, () => main(process.argv.slice(2)));
