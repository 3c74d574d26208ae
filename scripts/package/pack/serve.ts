import { readFile } from 'node:fs/promises';
import { createRequire } from 'node:module';
import path from 'node:path';
import { startFaultProxy } from '../../../simulators/network/fault-proxy.ts';
import { launchOptions } from '../../services/chromium.ts';
import { freePort, untilAnswering } from '../../services/ports.ts';
import { spawnChild } from '../../services/process.ts';
import { command, strangersEnvironment } from './commands.ts';

/** A server of an app's, started in another way than by `next start`. It listens at PORT. */
interface ServerCommand {
  cwd: string;
  line: string[];
  env: Record<string, string>;
}

/** Serves a built app, the fault proxy in front of it, while `work` runs. What the app wrote is added to an error. */
export async function served(
  app: string,
  signal: AbortSignal,
  work: (url: string) => Promise<void>,
  server?: ServerCommand,
): Promise<void> {
  const port = await freePort();
  const [program = '', ...args] = server?.line ?? [
    ...[process.execPath, installed(app, 'next', 'dist/bin/next')],
    ...['start', '-H', '127.0.0.1', '-p', String(port)],
  ];
  const lines: string[] = [];
  const child = spawnChild({
    name: 'the app',
    command: program,
    args,
    cwd: server?.cwd ?? app,
    env: { ...strangersEnvironment(), ...server?.env, PORT: String(port) },
    onLine: (line) => lines.push(line),
    log: (line) => lines.push(line),
  });
  const proxy = await startFaultProxy({ port: 0, target: `http://127.0.0.1:${port}` });
  try {
    await untilAnswering(`http://127.0.0.1:${port}/`, { signal });
    await work(proxy.url);
  } catch (error) {
    if (!(error instanceof Error)) throw error;
    throw new Error([error.message, 'The app wrote:', ...lines.slice(-40)].join('\n'));
  } finally {
    await proxy.close();
    await child.stop();
  }
}

/** A file of a package, wherever npm has put that: in a workspace it lies further up. */
export function installed(app: string, name: string, file: string): string {
  const manifest = createRequire(path.join(app, 'package.json')).resolve(`${name}/package.json`);
  return path.join(path.dirname(manifest), file);
}

export interface TestOutcome {
  title: string;
  error?: string;
}

/** Runs the app's own Playwright on one of its files of tests. */
export async function runTests(
  app: string,
  options: {
    file: string;
    url: string;
    basePath?: string | undefined;
    trailingSlash?: boolean | undefined;
    databaseUrl: string;
    /** The titles of tests that are not run match this. */
    leftOut?: string | undefined;
    signal: AbortSignal;
  },
): Promise<TestOutcome[]> {
  const { file, url, basePath = '', trailingSlash = false, databaseUrl, leftOut, signal } = options;
  const report = path.join(app, 'playwright-report.json');
  const cli = installed(app, '@playwright/test', 'cli.js');
  const env = {
    BASE_URL: url,
    BASE_PATH: basePath,
    TRAILING_SLASH: trailingSlash ? '/' : '',
    DATABASE_URL: databaseUrl,
    LAUNCH_OPTIONS: JSON.stringify(await launchOptions()),
    PLAYWRIGHT_JSON_OUTPUT_NAME: report,
  };
  const fewer = leftOut ? ['--grep-invert', leftOut] : [];
  const told = await command([process.execPath, cli, 'test', '--reporter=json', ...fewer, file], {
    cwd: app,
    env,
    signal,
  }).catch((error: Error) => error.message);
  const text = await readFile(report, 'utf8').catch(() => {
    throw new Error(`Playwright could not even start:\n${told}`);
  });
  return outcomesOf(JSON.parse(text), told);
}

interface Suite {
  suites?: Suite[];
  specs?: { title: string; ok: boolean; tests: { results: { error?: { message?: string } }[] }[] }[];
}

function outcomesOf(report: Suite & { errors: { message?: string }[] }, told: string): TestOutcome[] {
  const specs = (suite: Suite): NonNullable<Suite['specs']> => [
    ...(suite.specs ?? []),
    ...(suite.suites ?? []).flatMap(specs),
  ];
  const found = specs(report).map(({ title, ok, tests }) => {
    const words = tests.flatMap(({ results }) => results.map(({ error }) => error?.message ?? '')).join('\n');
    return ok ? { title } : { title, error: words || told };
  });
  if (found.length === 0) throw new Error(report.errors.map(({ message }) => message).join('\n') || told);
  return found;
}
