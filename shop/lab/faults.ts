import { readFileSync, unlinkSync } from 'node:fs';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import type { Options } from 'oncekit';
import { atCrashPoint, die } from './crash.ts';

/**
 * Lets a test stop or kill this process at a moment of its choice, by files in `folder` that hold the name of a point
 * and, optionally, of an operation behind it:
 *
 * - `hold-at`: the execution waits there while the file exists;
 * - `crash-at`: the process dies there, at once and without cleaning up. The file is removed first, so that it dies once.
 *
 * The lab's crashes happen here as well: a visitor's own, at the point and under the key of their run.
 */
export function faultPoints(folder: string): NonNullable<Options['onPoint']> {
  const holdAt = join(folder, 'hold-at');
  const crashAt = join(folder, 'crash-at');
  return async (point, { operation, key, step = '' }) => {
    const here = [point, operation, step];
    while (names(holdAt, here)) await sleep(20);
    if (names(crashAt, here) && removed(crashAt)) await die();
    await atCrashPoint('with', { key }, point);
  };
}

/** Each word that the file holds must fit; what it leaves out fits anything. */
function names(file: string, here: string[]): boolean {
  const wanted = read(file).trim().split(/\s+/);
  return wanted[0] !== '' && wanted.every((word, index) => word === here[index]);
}

function read(file: string): string {
  try {
    return readFileSync(file, 'utf8');
  } catch {
    return '';
  }
}

/** Removing decides who dies, where several executions see the file. */
function removed(file: string): boolean {
  try {
    unlinkSync(file);
    return true;
  } catch {
    return false;
  }
}
