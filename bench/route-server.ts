import { fork } from 'node:child_process';
import { cp, rm, writeFile } from 'node:fs/promises';
import { fileURLToPath } from 'node:url';
import { freePort, untilAnswering } from '../scripts/services/ports.ts';
import { spawnChild } from '../scripts/services/process.ts';
import type { Job } from './route-load.ts';

const ROOT = fileURLToPath(new URL('..', import.meta.url));
/** Git and all checks leave it alone. As deep as next-app is, so that the same relative paths lead out of it. */
const APP = '.data/bench-app';
const CONFIG = {
  turbopack: { root: ROOT },
  // Else Turbopack, which looks in the folders above as well, takes the demo's proxy.ts and instrumentation.ts for ours.
  pageExtensions: ['bench.ts', 'bench.tsx'],
  typescript: { ignoreBuildErrors: true },
};
const TSCONFIG = { extends: '../../tsconfig.json', include: ['**/*.ts', '**/*.tsx'] };

/** Builds next-app for production and serves it, on a database. */
export async function serveNextApp(databaseUrl: string) {
  const folder = `${ROOT}${APP}`;
  await rm(folder, { recursive: true, force: true });
  await cp(new URL('./next-app/', import.meta.url), folder, { recursive: true });
  await writeFile(`${folder}/next.config.mjs`, `export default ${JSON.stringify(CONFIG)}`);
  await writeFile(`${folder}/tsconfig.json`, JSON.stringify(TSCONFIG));
  const build = next(['build', APP], {});
  if ((await build.ended) !== 0) throw new Error(`next build failed:\n${build.output.join('\n')}`);

  const port = await freePort();
  const server = next(['start', APP, '-p', String(port), '-H', '127.0.0.1'], { DATABASE_URL: databaseUrl });
  const signal = new AbortController();
  void server.ended.then(() => signal.abort(new Error(`next start ended:\n${server.output.join('\n')}`)));
  await untilAnswering(`http://127.0.0.1:${port}/`, { signal: signal.signal });
  return { port, pid: server.pid as number, stop: server.stop };
}

function next(args: string[], env: Record<string, string>) {
  const output: string[] = [];
  const child = spawnChild({
    name: `next ${args[0]}`,
    command: process.execPath,
    args: ['node_modules/next/dist/bin/next', ...args],
    cwd: ROOT,
    env: { NODE_ENV: undefined, NEXT_TELEMETRY_DISABLED: '1', ...env },
    onLine: (line) => output.push(line),
    log: () => {},
  });
  return { ...child, pid: child.pid, output };
}

/** The process that sends the requests. One job at a time. */
export function startLoader() {
  const child = fork(new URL('./route-load.ts', import.meta.url), { execArgv: ['--import', 'tsx'] });
  const run = (job: Job) =>
    new Promise<{ seconds: number }>((resolve, reject) => {
      const ended = () => reject(new Error('The process that sends the requests has ended.'));
      child.once('exit', ended);
      child.once('message', (took: { seconds: number }) => {
        child.off('exit', ended);
        resolve(took);
      });
      child.send(job);
    });
  return { run, stop: () => child.disconnect() };
}
