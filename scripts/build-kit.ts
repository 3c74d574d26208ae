/**
 * `npm run build:kit`: the package as others install it. Plain `tsc` output, file by file, so that `'use client'` stays
 * where it is written and what people read in node_modules is what stands here.
 */
import { chmod, rm } from 'node:fs/promises';
import { fileURLToPath } from 'node:url';
import { runVisibly } from './services/programs.ts';

const root = fileURLToPath(new URL('..', import.meta.url));
const COMMAND = 'dist/cli/oncekit.js';

// The files of an earlier build would be packed, too.
await rm(`${root}dist`, { recursive: true, force: true });
// tsc is given the arguments: `--noCheck`, where the types have just been checked.
const options = process.argv.slice(2);
const tsc = [process.execPath, `${root}node_modules/typescript/bin/tsc`, '-p', `${root}tsconfig.kit.json`];
await runVisibly([...tsc, ...options]);
await chmod(`${root}${COMMAND}`, 0o755);
