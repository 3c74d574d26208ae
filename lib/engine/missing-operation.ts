import { type ParsedKey, parseKey } from '../core/key.ts';
import type { Principal } from '../core/scope.ts';
import type { Config } from './config.ts';
import type { Engine } from './engine.ts';
import { identify, whoActs } from './identity.ts';

/** A key, and the operation in its address. */
export interface AskedKey {
  operation: string;
  key: string;
}

/** By kit, the names of operations about which it has been said: strangers who make names up fill neither log nor memory. */
const reportedBy = new WeakMap<Config, Set<string>>();
const MAX_REPORTED = 100;

function reportedOf(config: Config): Set<string> {
  const operations = reportedBy.get(config) ?? new Set();
  reportedBy.set(config, operations);
  return operations;
}

/**
 * Says that a key is asked for whose operation is not known here: its module is not imported, or it is missing in a list. Proven
 * where this app has signed the key for it and for who asks, which strangers cannot make up; then it is said in production, too,
 * on the console and to the log. Once for each operation.
 *
 * @returns the words for a developer; undefined where it may be anybody's name, where `scope` throws, and once so many were told
 */
export async function explainMissing<Tx>(
  { config, operations }: Engine<Tx>,
  { operation, key }: AskedKey,
): Promise<string | undefined> {
  const parsed = parseKey(key);
  const { shape } = parsed;
  const reported = reportedOf(config);
  if ((shape !== 'signed' && shape !== 'unsigned') || reported.size >= MAX_REPORTED) return undefined;
  const who = await whoActsHere(config);
  if (!who || !isSignedHere(config.secrets, { operation, key, parsed }, who)) return undefined;
  const words = operations.has(operation)
    ? `The status route is asked about keys of ${operation}, which is not in its list. Add it there, or write statusRoute(idempotency), which knows all that were imported.`
    : `The status route is asked about keys of ${operation}, and its bundle has no operation of that name. Import the module that defines it in lib/operations, and that in the route.`;
  if (reported.has(operation)) return words;
  reported.add(operation);
  console.error(`[oncekit] ${words} Until then its forms cannot learn what became of a lost answer.`);
  config.log?.({ level: 'error', msg: 'the status route does not know an operation', operation, key });
  return words;
}

/** A scope that throws shows where an operation is known. Here it is no reason for an error: the answer is "not found". */
async function whoActsHere(config: Config): Promise<Principal | null> {
  try {
    return await whoActs(config, undefined);
  } catch {
    return null;
  }
}

/** Without a secret, in development alone, any key that could have been minted here counts. */
function isSignedHere(
  secrets: Config['secrets'],
  { operation, key, parsed }: AskedKey & { parsed: ParsedKey },
  who: Principal,
): boolean {
  if (!secrets.first) return parsed.shape === 'unsigned' && process.env.NODE_ENV === 'development';
  return identify(key, parsed, operation, who, { secrets, acceptKeys: 'minted' }) !== undefined;
}
