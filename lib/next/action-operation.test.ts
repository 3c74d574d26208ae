import { execFile } from 'node:child_process';
import { promisify } from 'node:util';
import { expect, test } from 'vitest';
import type { Operation } from '../engine/operation.ts';
import { attachOperation, operationOf } from './action-operation.ts';

const operation = { name: 'checkout' } as Operation<never, unknown>;

test('an operation is found again through every bind, and others have none', async () => {
  const action = attachOperation(async (...args: unknown[]) => args, operation);
  expect(operationOf(action)).toBe(operation);
  expect(operationOf(action.bind(null, 1).bind(null, 2))).toBe(operation);
  expect(await action.bind(null, 1)(2)).toEqual([1, 2]);
  expect(action).toBeInstanceOf(Function);
  for (const other of [async () => {}, undefined, null, 'x']) expect(operationOf(other)).toBeUndefined();
});

/** React's server half loads only where it is the server half that was asked for. */
const PROGRAM = `
  import react from 'next/dist/compiled/react-server-dom-webpack/cjs/react-server-dom-webpack-server.node.production.js';
  import { attachOperation, operationOf } from './lib/next/action-operation.ts';
  const made = attachOperation(async () => {}, { name: 'checkout' });
  const action = react.registerServerReference(made, 'id', null);
  const bound = action.bind(null, 'x').bind(null, 'y');
  console.log(JSON.stringify([operationOf(action), operationOf(bound), bound.$$id, bound.$$bound]));`;

test('it stays through what React makes of an action, which replaces its `bind`', async () => {
  const flags = ['--conditions=react-server', '--import', 'tsx', '--input-type=module', '--eval', PROGRAM];
  const { stdout } = await promisify(execFile)(process.execPath, flags);
  expect(JSON.parse(stdout)).toEqual([{ name: 'checkout' }, { name: 'checkout' }, 'id', ['x', 'y']]);
});
