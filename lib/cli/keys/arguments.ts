import { userInfo } from 'node:os';
import { KEY_STATES, type KeyState } from '../../core/key-state.ts';
import { UsageError } from '../cli-error.ts';
import { readArgs } from '../command.ts';

/** What `oncekit keys` was asked for, checked. */
export type Asked = { actor: string; json: boolean } & (
  | { command: 'list'; filter: ListFilter }
  | { command: 'show' | 'release'; key: string; of: Narrowing }
  | { command: 'fence'; key: string; of: Required<Narrowing>; window: string | undefined }
);

export interface ListFilter {
  state: KeyState | undefined;
  operation: string | undefined;
  search: string | undefined;
  stuck: boolean;
  limit: number;
}

/** Of which of several keys of one name. */
export interface Narrowing {
  operation?: string | undefined;
  tenant?: string | undefined;
  principal?: string | undefined;
}

export const COMMANDS = ['list', 'show', 'release', 'fence'] as const;

const text = { type: 'string' } as const;
const flag = { type: 'boolean' } as const;
const COMMON = { json: flag, actor: text, operation: text } as const;
const WHOSE = { ...COMMON, tenant: text, principal: text } as const;

/** @throws UsageError that says what does not exist */
export function asked([command = '', ...args]: string[]): Asked {
  if (!isCommand(command)) {
    throw new UsageError(
      command ? `There is no "keys ${command}".` : 'What about keys?',
      `There is: ${COMMANDS.join(', ')}.`,
    );
  }
  if (command === 'list') return askedList(args);
  const options = { ...WHOSE, ...(command === 'fence' ? { window: text } : {}) };
  const { values, positionals } = readArgs(args, options, 1);
  const {
    operation,
    tenant,
    principal,
    window,
    json = false,
  } = values as Partial<Record<string, string>> & { json?: boolean };
  const key = named('key', positionals[0] ?? '');
  const common = { actor: named('--actor', values.actor ?? userInfo().username), json, key };
  if (command !== 'fence') return { command, ...common, of: { operation, tenant, principal } };
  if (operation === undefined || tenant === undefined || principal === undefined) {
    throw new UsageError(
      'A key that was never used says nothing of whose it is.',
      'Name --operation, --tenant and --principal.',
    );
  }
  return { command, ...common, of: { operation, tenant, principal }, window };
}

function askedList(args: string[]): Asked {
  const { values } = readArgs(args, { ...COMMON, state: text, search: text, limit: text, stuck: flag });
  const { state, operation, search, stuck = false, limit = '50', json = false } = values;
  const found = KEY_STATES.find((one) => one === state);
  if (state !== undefined && !found) {
    throw new UsageError(`There is no state "${state}".`, `There is: ${KEY_STATES.join(', ')}.`);
  }
  const count = Number(limit);
  if (!Number.isInteger(count) || count < 1 || count > 1000) {
    throw new UsageError(`--limit takes a number from 1 to 1000, not "${limit}".`);
  }
  return { command: 'list', actor: '', json, filter: { state: found, operation, search, stuck, limit: count } };
}

function isCommand(name: string): name is Asked['command'] {
  return (COMMANDS as readonly string[]).includes(name);
}

function named(what: string, value: string): string {
  if (/^[^\0]{1,255}$/u.test(value)) return value;
  throw new UsageError(`A ${what} has 1 to 255 characters.`);
}
