import { hash } from 'node:crypto';

/** So many uses show that a statement comes again and again. */
const USES = 3;
/** How many texts servers are asked to keep: an app makes up more as it goes, such as lists of every length. */
const MAX_NAMES = 300;
const MAX_COUNTED = 1000;

let uses = new Map<string, number>();
let names = new Map<string, string>();
let generation = 1;

/**
 * The name under which a server is to keep a statement of the user's, for planning it costs several times what executing it
 * does. None before its third use, and none once there are 300 of them.
 */
export function statementName(text: string): string | undefined {
  const name = names.get(text);
  if (name !== undefined || names.size >= MAX_NAMES) return name;
  const count = (uses.get(text) ?? 0) + 1;
  if (count < USES) {
    if (uses.size >= MAX_COUNTED) uses = new Map();
    uses.set(text, count);
    return undefined;
  }
  uses.delete(text);
  const made = `oncekit_user${generation}_${hash('sha256', text).slice(0, 16)}`;
  names.set(text, made);
  return made;
}

/**
 * From now on all statements have other names. Behind a migration each connection's server has plans that answer in columns
 * of before, and would refuse each of them once.
 */
export function renewStatementNames(): void {
  generation++;
  uses = new Map();
  names = new Map();
}
