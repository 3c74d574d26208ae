import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { existsSync, readFileSync } from 'node:fs';
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { createInterface } from 'node:readline';
import { setTimeout as wait } from 'node:timers/promises';
import { pathToFileURL } from 'node:url';
import { afterEach, expect, test, vi } from 'vitest';
import { type ChildOptions, type SupervisedChild, spawnChild } from './process.ts';

const started: SupervisedChild[] = [];
const lines: string[] = [];
const log = vi.fn<(sentence: string) => void>();

afterEach(async () => {
  await Promise.all(started.splice(0).map((child) => child.stop()));
  lines.length = 0;
  log.mockReset();
});

function start(code: string, options: Partial<ChildOptions> = {}): SupervisedChild {
  const args = ['-e', code];
  const onLine = (line: string) => void lines.push(line);
  const child = spawnChild({ name: 'app', command: process.execPath, args, onLine, log, ...options });
  started.push(child);
  return child;
}

const STAY = 'setInterval(() => {}, 1000);';
/** Writes its own id and that of a child which ignores SIGTERM and the end of its input. */
const WITH_CHILD = `
  const { spawn } = require('node:child_process');
  const stubborn = "process.on('SIGTERM', () => {}); console.log('up'); setInterval(() => {}, 1000)";
  const child = spawn(process.execPath, ['-e', stubborn], { stdio: ['ignore', 'pipe', 'ignore'] });
  child.stdout.once('data', () => console.log(process.pid + ' ' + child.pid));
  ${STAY}`;

/** A zombie, which only its parent can remove, counts as gone. */
function isAlive(pid: number): boolean {
  try {
    process.kill(pid, 0);
  } catch {
    return false;
  }
  const stat = `/proc/${pid}/stat`;
  return !existsSync(stat) || !/\) Z/.test(readFileSync(stat, 'utf8'));
}

const ids = (line = '') => line.split(' ').map(Number);
const often = { interval: 20 };

test('hands on the lines of both streams and the exit code', async () => {
  const child = start('console.log("out"); console.error("err"); process.exit(3)');
  expect(await child.ended).toBe(3);
  await vi.waitFor(() => expect(lines.toSorted()).toEqual(['err', 'out']));
  expect(log.mock.calls).toEqual([['app ended with code 3.']]);
});

test('a crashed child starts again, each time later', async () => {
  start('console.log("up"); process.exit(1)', { restart: true });
  await vi.waitFor(() => expect(lines.length).toBeGreaterThanOrEqual(3), often);
  const told = log.mock.calls.map(([sentence]) => sentence).slice(0, 2);
  expect(told).toEqual([
    'app ended with code 1. Starting it again in 100 ms.',
    'app ended with code 1. Starting it again in 200 ms.',
  ]);
});

test('a killed child comes back; its pid file names the new one, and is gone after stop', async () => {
  const folder = await mkdtemp(join(tmpdir(), 'process-'));
  const pidFile = join(folder, 'app.pid');
  const child = start(`console.log(process.pid); ${STAY}`, { restart: true, pidFile });
  await vi.waitFor(() => expect(lines).toHaveLength(1), often);
  process.kill(Number(lines[0]), 'SIGKILL');
  await vi.waitFor(() => expect(lines).toHaveLength(2), often);
  expect(lines[1]).not.toBe(lines[0]);
  expect(readFileSync(pidFile, 'utf8').trim()).toBe(lines[1]);
  expect(child.pid).toBe(Number(lines[1]));
  expect(log.mock.calls[0]?.[0]).toMatch('app was killed by SIGKILL');
  await child.stop();
  expect(existsSync(pidFile)).toBe(false);
  expect(isAlive(Number(lines[1]))).toBe(false);
  await rm(folder, { recursive: true });
});

test('stop lets a child drain', async () => {
  const drain = `process.on('SIGTERM', () => setTimeout(() => { console.log('drained'); process.exit(0) }, 50));`;
  const child = start(`${drain} console.log('up'); ${STAY}`, { restart: true });
  await vi.waitFor(() => expect(lines).toEqual(['up']), often);
  await child.stop();
  expect(await child.ended).toBe(0);
  await vi.waitFor(() => expect(lines).toEqual(['up', 'drained']));
  expect(log).not.toHaveBeenCalled();
});

test('stop kills a child that does not listen, and what it started', async () => {
  const child = start(`process.on('SIGTERM', () => {}); ${WITH_CHILD}`, { graceMs: 100 });
  await vi.waitFor(() => expect(lines).toHaveLength(1), often);
  await child.stop();
  expect(await child.ended).toBe(null);
  await vi.waitFor(() => expect(ids(lines[0]).filter(isAlive)).toEqual([]), often);
});

test('what a crashed child started does not outlive it', async () => {
  const child = start(WITH_CHILD);
  await vi.waitFor(() => expect(lines).toHaveLength(1), often);
  process.kill(ids(lines[0])[0] ?? 0, 'SIGKILL');
  await child.ended;
  await vi.waitFor(() => expect(ids(lines[0]).filter(isAlive)).toEqual([]), often);
});

test('stop during the wait for a restart ends at once', async () => {
  const child = start('process.exit(1)', { restart: true });
  await new Promise<void>((resolve) => log.mockImplementation(() => resolve()));
  // Its wait of 100 ms has just begun, and ends before any timer can.
  const ended = child.stop().then(() => 'at once');
  expect(await Promise.race([ended, wait(50, 'later')])).toBe('at once');
});

test('a program that does not exist is reported', async () => {
  const child = start('', { command: '/nonexistent/program' });
  expect(await child.ended).toBe(null);
  expect(log.mock.calls[0]?.[0]).toMatch(/^app could not be started: .*ENOENT/);
});

test('children leave when their supervisor is killed by SIGKILL', async () => {
  const module = pathToFileURL('scripts/services/process.ts').href;
  const code = `
    const { spawnChild } = await import(${JSON.stringify(module)});
    const args = ['-e', ${JSON.stringify(WITH_CHILD)}];
    spawnChild({ name: 'app', command: process.execPath, args, onLine: console.log });`;
  const supervisor = spawn(process.execPath, ['--import', 'tsx', '--input-type=module', '-e', code]);
  const [line] = await once(createInterface(supervisor.stdout), 'line');
  expect(ids(line).filter(isAlive)).toHaveLength(2);
  supervisor.kill('SIGKILL');
  await vi.waitFor(() => expect(ids(line).filter(isAlive)).toEqual([]), often);
});
