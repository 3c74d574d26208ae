/** A real NATS server with JetStream for the tests, without Docker, that can be killed and comes back with its streams. */
import { type ChildProcess, type ChildProcessByStdio, execFile, spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdtemp, readdir, readFile, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { createInterface } from 'node:readline';
import type { Readable } from 'node:stream';
import { setTimeout as sleep } from 'node:timers/promises';
import { promisify } from 'node:util';
import { theNats } from './nats-install.ts';
import { freePort } from './ports.ts';

const run = promisify(execFile);

export interface Nats {
  /** The same through all its lives. */
  readonly url: string;
  /** kill -9. Resolves when it is dead. */
  kill(): Promise<void>;
  /** Starts it again, on the same port, with the streams it had. Resolves when it takes connections. */
  start(): Promise<void>;
  /** SIGSTOP: it keeps its connections, and says nothing until it is thawed. Resolves when it has stopped. */
  freeze(): Promise<void>;
  thaw(): void;
  /** Stops it and deletes its streams. */
  close(): Promise<void>;
}

/** Starts a server on a free port of 127.0.0.1, with a folder of its own. It ends with this process, unless that is killed. */
export async function startNats({ args = [] }: { args?: string[] } = {}): Promise<Nats> {
  const program = await theNats();
  const folder = await mkdtemp(join(tmpdir(), 'oncekit-nats-'));
  let port = await freePort();
  let hasRun = false;
  let server: ChildProcess | undefined;
  const kill = async () => {
    const ending = server;
    server = undefined;
    if (!ending || ending.exitCode !== null || ending.signalCode !== null) return;
    const gone = once(ending, 'exit');
    ending.kill('SIGKILL');
    await gone;
  };
  const nats: Nats = {
    get url() {
      return `nats://127.0.0.1:${port}`;
    },
    kill,
    start: async () => {
      for (let attempt = 1; ; attempt++) {
        const all = ['-js', '-sd', folder, '-a', '127.0.0.1', '-p', String(port), ...args];
        // Known before it is ready, so that `close` finds it at any moment.
        const started = spawn(program, all, { stdio: ['ignore', 'ignore', 'pipe'] });
        server = started;
        try {
          await untilReady(started);
          hasRun = true;
          return;
        } catch (error) {
          // Somebody took the port since we looked, or since it was killed: mostly a connection, which soon ends.
          const isTaken = /address already in use/.test(String(error)) && server === started;
          if (!isTaken || attempt === 10) throw error;
          if (hasRun) await sleep(300);
          else port = await freePort();
        }
      }
    },
    freeze: async () => {
      const { pid } = server ?? {};
      if (pid === undefined) return;
      server?.kill('SIGSTOP');
      while (!(await isStopped(pid))) await sleep(5);
    },
    thaw: () => void server?.kill('SIGCONT'),
    close: async () => {
      await kill(); // its data is thrown away
      await rm(folder, { recursive: true, force: true });
    },
  };
  try {
    await nats.start();
    return nats;
  } catch (error) {
    await nats.close();
    throw error;
  }
}

async function untilReady(server: ChildProcessByStdio<null, null, Readable>): Promise<void> {
  const orphaned = () => server.kill('SIGKILL');
  process.once('exit', orphaned);
  server.once('exit', () => process.off('exit', orphaned));
  const lines: string[] = [];
  await new Promise<void>((resolve, reject) => {
    server.once('error', reject);
    server.once('close', () => reject(new Error(`nats-server does not start:\n${lines.join('\n')}`)));
    createInterface(server.stderr).on('line', (line) => {
      lines.push(line);
      if (lines.length > 50) lines.shift();
      if (/Server is ready/.test(line)) resolve();
    });
  });
}

/** A signal is on its way for a moment, and the last of its threads may still answer. */
async function isStopped(pid: number): Promise<boolean> {
  if (process.platform !== 'linux') {
    const { stdout } = await run('ps', ['-o', 'state=', '-p', String(pid)]);
    return stdout.trim().startsWith('T');
  }
  const threads = await readdir(`/proc/${pid}/task`);
  const stats = await Promise.all(threads.map((thread) => readFile(`/proc/${pid}/task/${thread}/stat`, 'utf8')));
  return stats.every((stat) => stat.slice(stat.lastIndexOf(')') + 2).startsWith('T'));
}
