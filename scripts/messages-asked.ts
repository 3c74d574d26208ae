import { userInfo } from 'node:os';
import { parseArgs } from 'node:util';

const STATES = { outbox: ['dead', 'pending', 'delivered', 'skipped'], inbox: ['dead', 'failed', 'processed'] } as const;
const UNSETTLED = ['dead', 'pending', 'failed'];
/** How many names each takes. */
const COMMANDS = { list: 0, requeue: 2, 'requeue-all': 1, skip: 2, abandon: 1, resume: 1 };

export type Box = keyof typeof STATES;
export type State<B extends Box> = (typeof STATES)[B][number];

/** What a person has asked for. */
export interface Asked {
  command: keyof typeof COMMANDS;
  /** A destination or a source. */
  peer: string;
  eventId: string;
  actor: string;
  boxes: Box[];
  states: { [B in Box]: State<B>[] };
  limit: number;
  isSure: boolean;
}

/** What the arguments ask for; undefined: for help. Throws the sentence that says what does not exist. */
export function asked(args: string[]): Asked | undefined {
  const text = { type: 'string' } as const;
  const flag = { type: 'boolean' } as const;
  const options = { as: text, box: text, state: text, limit: text, yes: flag, help: flag } as const;
  const { values, positionals } = parseArgs({ args, allowPositionals: true, options });
  if (values.help) return undefined;
  const [command = '', ...names] = positionals;
  if (!Object.hasOwn(COMMANDS, command)) throw new Error(`There is no "${command}".`);
  const wanted = COMMANDS[command as keyof typeof COMMANDS];
  if (names.length !== wanted) throw new Error(`"${command}" takes ${wanted} names, and there are ${names.length}.`);
  const actor = values.as ?? userInfo().username;
  if (![actor, ...names].every((name) => /^[^\0]{1,255}$/u.test(name))) {
    throw new Error('A name has 1 to 255 characters.');
  }
  const { box, state, limit = '50' } = values;
  if (box !== undefined && !Object.hasOwn(STATES, box)) throw new Error(`There is no box "${box}".`);
  const boxes = (box === undefined ? Object.keys(STATES) : [box]) as Box[];
  const chosen = (each: Box) => STATES[each].filter((one) => (state === undefined ? UNSETTLED : [state]).includes(one));
  const states = { outbox: chosen('outbox'), inbox: chosen('inbox') } as Asked['states'];
  if (boxes.every((each) => states[each].length === 0)) throw new Error(`There is no state "${state}".`);
  if (!/^\d{1,4}$/.test(limit) || Number(limit) < 1 || Number(limit) > 1000) {
    throw new Error(`--limit takes a number from 1 to 1000, not "${limit}".`);
  }
  const [peer = '', eventId = ''] = names;
  return {
    command: command as Asked['command'],
    peer,
    eventId,
    actor,
    boxes,
    states,
    limit: Number(limit),
    isSure: values.yes ?? false,
  };
}
