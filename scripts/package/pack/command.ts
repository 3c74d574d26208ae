import { spawnChild } from '../../services/process.ts';

export interface CommandOptions {
  cwd: string;
  env?: Record<string, string | undefined>;
  signal: AbortSignal;
}

/**
 * Runs a program to its end, in a folder of somebody else's: without what npm and the tests have put into our own
 * environment. Resolves with what it wrote, both streams in one; rejects with that when it fails.
 */
export async function command(line: string[], { cwd, env = {}, signal }: CommandOptions): Promise<string> {
  signal.throwIfAborted();
  const [program = '', ...args] = line;
  const output: string[] = [];
  const child = spawnChild({
    name: program,
    command: program,
    args,
    cwd,
    env: { ...strangersEnvironment(), ...env },
    onLine: (text) => output.push(text),
    log: () => {},
  });
  signal.addEventListener('abort', child.stop);
  const code = await child.ended;
  signal.removeEventListener('abort', child.stop);
  signal.throwIfAborted();
  if (code !== 0) throw new Error([`${line.join(' ')}: ended with code ${code}`, ...output.slice(-60)].join('\n'));
  return output.join('\n');
}

/** Nothing of `npm run`, which would lead npm back to our own package.json, and nothing that the app has in its .env. */
export function strangersEnvironment(): Record<string, undefined | string> {
  const ours = Object.keys(process.env).filter((name) => /^npm_|^(NODE_ENV|NODE_OPTIONS|INIT_CWD|VITEST)$/i.test(name));
  const theirs = ['DATABASE_URL', 'IDEMPOTENCY_SECRET', 'CRON_SECRET', 'TEST_DATABASE_URL'];
  return { ...Object.fromEntries([...ours, ...theirs].map((name) => [name, undefined])), NEXT_TELEMETRY_DISABLED: '1' };
}
