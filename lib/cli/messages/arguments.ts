import { flag, readActor, readArgs, readLimit, readName, readSubcommand, text } from '../arguments.ts';
import { UsageError } from '../command.ts';

const STATES = { outbox: ['dead', 'pending', 'delivered', 'skipped'], inbox: ['dead', 'failed', 'processed'] } as const;
const UNSETTLED = ['dead', 'pending', 'failed'];
/** How many names each takes. */
const NAMES = { list: 0, requeue: 2, 'requeue-all': 1, skip: 2, abandon: 1, resume: 1 };

type Box = keyof typeof STATES;
type Subcommand = keyof typeof NAMES;

/** The arguments of `oncekit messages`, checked. */
export interface MessagesRequest {
  command: Subcommand;
  /** A destination or a source. */
  peer: string;
  eventId: string;
  actor: string;
  boxes: Box[];
  states: { [B in Box]: (typeof STATES)[B][number][] };
  limit: number;
  isSure: boolean;
}

const OPTIONS = { actor: text, box: text, state: text, limit: text, yes: flag } as const;

/** @throws UsageError that says what does not exist */
export function readMessagesRequest([name = '', ...args]: string[]): MessagesRequest {
  const command = readSubcommand('messages', name, Object.keys(NAMES) as Subcommand[]);
  const { values, positionals } = readArgs(args, OPTIONS, NAMES[command]);
  const [peer = '', eventId = ''] = positionals.map((each) => readName('A name', each));
  const boxes = readBoxes(values.box);
  return {
    command,
    peer,
    eventId,
    actor: readActor(values.actor),
    boxes,
    states: readStates(values.state, boxes),
    limit: readLimit(values.limit),
    isSure: values.yes ?? false,
  };
}

function readBoxes(name: string | undefined): Box[] {
  const all = Object.keys(STATES) as Box[];
  const boxes = all.filter((box) => name === undefined || box === name);
  if (boxes.length > 0) return boxes;
  throw new UsageError(`There is no box "${name}".`, `There is: ${all.join(', ')}.`);
}

function readStates(name: string | undefined, boxes: Box[]): MessagesRequest['states'] {
  const wanted = name === undefined ? UNSETTLED : [name];
  const isWanted = (box: Box) => (state: string) => boxes.includes(box) && wanted.includes(state);
  const states = { outbox: STATES.outbox.filter(isWanted('outbox')), inbox: STATES.inbox.filter(isWanted('inbox')) };
  if (states.outbox.length + states.inbox.length > 0) return states;
  const known = new Set(boxes.flatMap((box): readonly string[] => STATES[box]));
  throw new UsageError(`There is no state "${name}".`, `There is: ${[...known].join(', ')}.`);
}
