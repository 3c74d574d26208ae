import { type ChildProcess, spawn } from 'node:child_process';
import { rmSync, writeFileSync } from 'node:fs';
import { createInterface } from 'node:readline';
import { setTimeout as wait } from 'node:timers/promises';
import { fileURLToPath } from 'node:url';

const PRELOAD = fileURLToPath(new URL('./exit-with-parent.mjs', import.meta.url));
const FIRST_BACKOFF_MS = 100;
const LAST_BACKOFF_MS = 2000;
const STEADY_MS = 10_000;

export interface ChildOptions {
  name: string;
  /** With `process.execPath` the child also ends when this process is killed by SIGKILL; other programs do not. */
  command: string;
  args?: string[];
  /** Added to this process's own environment; `undefined` removes a variable. */
  env?: Record<string, string | undefined>;
  cwd?: string;
  /** Start it again when it ends by itself. */
  restart?: boolean;
  /** Each line the child writes, of either stream. */
  onLine?: (line: string) => void;
  /** Takes the supervisor's words: one sentence per crash. */
  log?: (sentence: string) => void;
  /** Holds the id of the child's process group while it lives. */
  pidFile?: string;
  /** From SIGTERM to SIGKILL. */
  graceMs?: number;
}

export interface SupervisedChild {
  readonly pid: number | undefined;
  /** Resolves with the exit code (null: killed by a signal) when the child has ended and will not be restarted. */
  readonly ended: Promise<number | null>;
  /** SIGTERM to the child and all it started, SIGKILL after `graceMs`. Resolves when they are gone. Never rejects. */
  stop(): Promise<void>;
}

/**
 * Starts a child in a process group of its own, so that Ctrl-C in a terminal reaches the supervisor alone, which can
 * then stop its children in order. A crashed child with `restart` comes back after 100 ms, doubling up to 2 s; the delay
 * starts anew once it has lived for 10 s. No process of the group outlives its leader.
 */
export function spawnChild(options: ChildOptions): SupervisedChild {
  const { name, restart = false, log = console.error, graceMs = 10_000 } = options;
  const stopping = new AbortController();
  let child: ChildProcess | undefined;

  async function supervise(): Promise<number | null> {
    let backoffMs = FIRST_BACKOFF_MS;
    for (;;) {
      const startedAt = performance.now();
      const end = run(options, (started) => {
        child = started;
      });
      const { code, sentence } = await end;
      if (stopping.signal.aborted || !restart) {
        if (!stopping.signal.aborted && code !== 0) log(`${name} ${sentence}.`);
        return code;
      }
      if (performance.now() - startedAt >= STEADY_MS) backoffMs = FIRST_BACKOFF_MS;
      log(`${name} ${sentence}. Starting it again in ${backoffMs} ms.`);
      await wait(backoffMs, undefined, { signal: stopping.signal }).catch(() => {});
      if (stopping.signal.aborted) return code;
      backoffMs = Math.min(backoffMs * 2, LAST_BACKOFF_MS);
    }
  }

  const ended = supervise();
  const stop = async () => {
    stopping.abort();
    signalGroup(child, 'SIGTERM');
    const killer = setTimeout(() => signalGroup(child, 'SIGKILL'), graceMs);
    await ended;
    clearTimeout(killer);
  };
  return {
    get pid() {
      return child?.pid;
    },
    ended,
    stop,
  };
}

/** One life of a child, up to the end of its whole group. */
async function run(options: ChildOptions, onStarted: (child: ChildProcess) => void) {
  const { command, args = [], env, cwd, onLine, pidFile } = options;
  const watched = command === process.execPath ? ['--import', PRELOAD, ...args] : args;
  const child = spawn(command, watched, {
    detached: true,
    cwd,
    env: { ...process.env, ...env, ONCEKIT_SUPERVISOR: String(process.pid) },
    stdio: ['pipe', 'pipe', 'pipe'],
  });
  onStarted(child);
  child.stdin.on('error', () => {}); // it is only there to be closed
  for (const stream of [child.stdout, child.stderr]) createInterface(stream).on('line', (line) => onLine?.(line));
  if (pidFile && child.pid) writeFileSync(pidFile, `${child.pid}\n`);

  const closed = new Promise((resolve) => child.on('close', resolve));
  const end = await new Promise<{ code: number | null; sentence: string }>((resolve) => {
    child.on('error', (error) => resolve({ code: null, sentence: `could not be started: ${error.message}` }));
    child.on('exit', (code, signal) =>
      resolve({ code, sentence: signal ? `was killed by ${signal}` : `ended with code ${code}` }),
    );
  });
  // A stale id could by then belong to somebody else's process.
  if (pidFile) rmSync(pidFile, { force: true });
  await endOfGroup(child);
  // Its last lines; bounded, because a process that left the group may still hold the pipe.
  await Promise.race([closed, wait(500)]);
  return end;
}

/** The leader's children get a second to follow it, then none: they would hold the port that the next life needs. */
async function endOfGroup(child: ChildProcess): Promise<void> {
  for (let waited = 0; waited < 1000 && signalGroup(child, 0); waited += 20) await wait(20);
  signalGroup(child, 'SIGKILL');
}

/** True where there was a group to signal. */
function signalGroup(child: ChildProcess | undefined, signal: NodeJS.Signals | 0): boolean {
  if (!child?.pid) return false;
  try {
    return process.kill(-child.pid, signal);
  } catch {
    return false;
  }
}
