import { KEY_STATES } from '../../core/key-state.ts';
import type { KeyId } from '../../core/scope.ts';
import type { KeyFilter } from '../../store/oversight.ts';
import { flag, readActor, readArgs, readLimit, readName, readSubcommand, text } from '../arguments.ts';
import { UsageError } from '../command.ts';

/** The arguments of `oncekit keys`, checked. */
export type KeysRequest = { actor: string; json: boolean } & (
  | { command: 'list'; filter: KeyFilter }
  | { command: 'show' | 'release' | 'acknowledge'; key: string; of: Narrowing }
  | { command: 'fence'; key: string; of: Whose; window: string | undefined }
);

type Whose = Omit<KeyId, 'key'>;

/** Tells several keys of one name apart. */
export type Narrowing = { [Name in keyof Whose]: Whose[Name] | undefined };

export const SUBCOMMANDS = ['list', 'show', 'release', 'acknowledge', 'fence'] as const;

const COMMON = { json: flag, actor: text, operation: text } as const;
const OF_LIST = { ...COMMON, state: text, search: text, limit: text, stuck: flag } as const;
const OF_KEY = { ...COMMON, tenant: text, principal: text } as const;
const OF_FENCE = { ...OF_KEY, window: text } as const;

/** @throws UsageError that says what does not exist */
export function readKeysRequest([name = '', ...args]: string[]): KeysRequest {
  const command = readSubcommand('keys', name, SUBCOMMANDS);
  if (command === 'list') return readListRequest(args);
  const options = (command === 'fence' ? OF_FENCE : OF_KEY) as typeof OF_FENCE;
  const { values, positionals } = readArgs(args, options, 1);
  const { operation, tenant, principal, window, json = false } = values;
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
  const { state: wanted, json = false, actor: _, limit, ...rest } = readArgs(args, OF_LIST).values;
  const state = KEY_STATES.find((one) => one === wanted);
  if (wanted !== undefined && !state) {
    throw new UsageError(`There is no state "${wanted}".`, `There is: ${KEY_STATES.join(', ')}.`);
  }
  return { command: 'list', actor: '', json, filter: { ...rest, state, limit: readLimit(limit), offset: 0 } };
}
