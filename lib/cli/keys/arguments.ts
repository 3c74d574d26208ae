import { KEY_STATES, type KeyState } from '../../core/key-state.ts';
import { readActor, readArgs, readLimit, readName, readSubcommand } from '../arguments.ts';
import { UsageError } from '../command.ts';

/** The arguments of `oncekit keys`, checked. */
export type KeysRequest = { actor: string; json: boolean } & (
  | { command: 'list'; filter: ListFilter }
  | { command: 'show' | 'release' | 'acknowledge'; key: string; of: Narrowing }
  | { command: 'fence'; key: string; of: Required<Narrowing>; window: string | undefined }
);

interface ListFilter {
  state: KeyState | undefined;
  operation: string | undefined;
  search: string | undefined;
  stuck: boolean;
  limit: number;
}

/** Tells several keys of one name apart. */
export interface Narrowing {
  operation?: string | undefined;
  tenant?: string | undefined;
  principal?: string | undefined;
}

export const SUBCOMMANDS = ['list', 'show', 'release', 'acknowledge', 'fence'] as const;

const text = { type: 'string' } as const;
const flag = { type: 'boolean' } as const;
const COMMON = { json: flag, actor: text, operation: text } as const;
const WHOSE = { ...COMMON, tenant: text, principal: text } as const;

/** @throws UsageError that says what does not exist */
export function readKeysRequest([name = '', ...args]: string[]): KeysRequest {
  const command = readSubcommand('keys', name, SUBCOMMANDS);
  if (command === 'list') return readListRequest(args);
  const options = { ...WHOSE, ...(command === 'fence' ? { window: text } : {}) };
  const { values, positionals } = readArgs(args, options, 1);
  const {
    operation,
    tenant,
    principal,
    window,
    json = false,
  } = values as Partial<Record<string, string>> & { json?: boolean };
  const key = readName('A key', positionals[0] ?? '');
  const common = { actor: readActor(values.actor), json, key };
  if (command !== 'fence') return { command, ...common, of: { operation, tenant, principal } };
  if (operation === undefined || tenant === undefined || principal === undefined) {
    throw new UsageError(
      'A key that was never used says nothing of whose it is.',
      'Name --operation, --tenant and --principal.',
    );
  }
  return { command, ...common, of: { operation, tenant, principal }, window };
}

function readListRequest(args: string[]): KeysRequest {
  const { values } = readArgs(args, { ...COMMON, state: text, search: text, limit: text, stuck: flag });
  const { state, operation, search, stuck = false, limit, json = false } = values;
  const found = KEY_STATES.find((one) => one === state);
  if (state !== undefined && !found) {
    throw new UsageError(`There is no state "${state}".`, `There is: ${KEY_STATES.join(', ')}.`);
  }
  return {
    command: 'list',
    actor: '',
    json,
    filter: { state: found, operation, search, stuck, limit: readLimit(limit) },
  };
}
