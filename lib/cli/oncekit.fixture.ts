/** Starts `oncekit` as its users do: a process of its own, in the folder of an app. */
import { execFile, spawn } from 'node:child_process';
import { symlinkSync } from 'node:fs';
import path from 'node:path';
import { fileURLToPath } from 'node:url';
import { cliProgram } from '../../scripts/testing/cli-programs.ts';
import { type Files, type folders, runnable } from './app/app.fixture.ts';

const ROOT = fileURLToPath(new URL('../../', import.meta.url));
const TSX = path.join(ROOT, 'node_modules/tsx/dist/cli.mjs');
const ONCEKIT = [cliProgram('oncekit')];

export interface Exit {
  code: number | null;
  out: string;
  err: string;
}

export interface ProcessOptions {
  cwd: string;
  /** DATABASE_URL among them; undefined unsets a variable. */
  env: Record<string, string | undefined>;
  stdin?: string;
}

/** Makes an app that runs, with the packages that it imports, and returns its folder. */
export function makeRunnableApp(made: ReturnType<typeof folders>, files: Files): string {
  const app = made.of({ ...runnable(), ...files });
  symlinkSync(path.join(ROOT, 'node_modules'), path.join(app, 'node_modules'));
  return app;
}

/** Runs a command to its end. */
export function runOncekit(args: string[], options: ProcessOptions): Promise<Exit> {
  return runNode([...ONCEKIT, ...args], options);
}

/** Runs a script of the app to its end. */
export function runScript(args: string[], options: ProcessOptions): Promise<Exit> {
  return runNode([TSX, ...args], options);
}

function runNode(args: string[], { cwd, env, stdin = '' }: ProcessOptions): Promise<Exit> {
  return new Promise((resolve) => {
    const child = execFile(process.execPath, args, { cwd, env: environment(env) }, (_, out, err) =>
      resolve({ code: child.exitCode, out, err }),
    );
    child.stdin?.end(stdin);
  });
}

/** Starts a command that runs until it is stopped. */
export function startOncekit(args: string[], { cwd, env }: Pick<ProcessOptions, 'cwd' | 'env'>) {
  const child = spawn(process.execPath, [...ONCEKIT, ...args], { cwd, env: environment(env) });
  let output = '';
  for (const stream of [child.stdout, child.stderr]) stream.on('data', (data) => (output += data));
  const exited = new Promise<number | null>((resolve) => child.once('exit', resolve));
  return {
    /** All that it has written so far. */
    output: () => output,
    /** Sends SIGTERM and resolves with the exit code. */
    stop: () => {
      child.kill('SIGTERM');
      return exited;
    },
  };
}

function environment(env: ProcessOptions['env']): NodeJS.ProcessEnv {
  return { ...process.env, NODE_ENV: 'production', ...env } as NodeJS.ProcessEnv;
}
