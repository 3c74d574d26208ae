import {
  createMessagesAdmin,
  type DeliveryRow,
  type MessagePage,
  type ReceivedSummary,
} from '../../admin/messages-admin.ts';
import { printable } from '../../core/printable.ts';
import { createInbox, createOutbox } from '../../messaging/prisma.ts';
import {
  type Command,
  flag,
  readActor,
  readArgs,
  readLimit,
  readName,
  readSubcommand,
  text,
  UsageError,
} from '../command.ts';
import { type CommandResult, done, notDone, runOnDatabase } from '../raw-client.ts';
import { counted, span, table } from '../table.ts';

const help = `oncekit messages list                                      what is not settled, newest first
oncekit messages requeue <destination|source> <event id>   tries a dead letter again, or one that was skipped
oncekit messages requeue-all <destination>                 tries all its dead letters again
oncekit messages skip <destination> <event id>             lets a destination go on without its dead letter
oncekit messages abandon <destination>                     gives up all that waits for a destination that is gone
oncekit messages resume <destination>                      lets a destination go on that was stopped

  --yes            for abandon: yes, all of it
  --actor <name>   who does it, for the record. Left out: the user of this machine
  --box <box>      outbox or inbox. Left out: both; requeue looks into the outbox first
  --state <state>  for list: dead, pending, delivered, skipped (outbox), dead, failed, processed (inbox)
  --limit <n>      for list: how many of each state, at most 1000. Left out: 50

DATABASE_URL says which database; the app is not loaded, and no destination is called. Payloads are not shown. Ends with 0
when it is done, with 1 when nothing was done, and says why, and with 2 when it was asked for something that does not exist.`;

const OPTIONS = { actor: text, box: text, state: text, limit: text, yes: flag } as const;
const STATES = { outbox: ['dead', 'pending', 'delivered', 'skipped'], inbox: ['dead', 'failed', 'processed'] } as const;
/** Events, in whole batches. */
const TOLD_EACH = 10_000;
const UNSETTLED = ['dead', 'pending', 'failed'];

type Box = keyof typeof STATES;
type MessagesAdmin = ReturnType<typeof createMessagesAdmin>;
/** What a subcommand does, once its arguments are read. Nothing is sent: all of it happens in the database. */
type Act = Parameters<typeof runOnDatabase>[0];

const ACTS = {
  list: subcommand(0, async ({ outbox, inbox }, { states, limit }) => {
    const page = { limit, offset: 0 };
    const lines: string[] = [];
    if (states.outbox.length > 0) {
      const pages = await Promise.all(states.outbox.map((state) => outbox.list({ state, ...page })));
      const { stops } = await outbox.overview();
      const stopped = stops.map((stop) => `${stop.destination} is stopped, and its events wait: ${stop.reason}`);
      lines.push(listed('Outbox', pages, sentCells), ...stopped.map(printable));
    }
    if (states.inbox.length > 0) {
      const pages = await Promise.all(states.inbox.map((state) => inbox.list({ state, ...page })));
      lines.push(listed('Inbox', pages, receivedCells));
    }
    return { isDone: true, words: lines.join('\n') };
  }),

  requeue: subcommand(2, async ({ outbox, inbox }, { peer, eventId, boxes, actor }) => {
    const next = {
      outbox: '',
      inbox: ` A worker runs it whose inbox has a \`handle\` for ${peer}; what is not kept comes with its sender's next delivery.`,
    };
    const ways = {
      outbox: () => outbox.requeue({ destination: peer, eventId }, actor),
      inbox: () => inbox.requeue({ source: peer, eventId }, actor),
    };
    for (const box of boxes) {
      if ((await ways[box]()) === 'recorded')
        return done(`Requeued in the ${box}, by ${actor}: ${eventId} of ${peer}.${next[box]}`);
    }
    const sent = boxes.includes('outbox') ? await sentState(outbox, peer, eventId) : undefined;
    const received = boxes.includes('inbox') ? await inbox.find({ source: peer, eventId }) : undefined;
    return unchanged(sent ?? received?.state, peer, eventId);
  }),

  'requeue-all': subcommand(1, async ({ outbox }, { peer, actor }) => {
    const count = await outbox.requeueAll(peer, actor, { onBatch: progressOf('Requeued', peer) });
    return count > 0 ? done(`Requeued, by ${actor}: ${count} of ${peer}.`) : notDone(`${peer} has no dead letters`);
  }),

  skip: subcommand(2, async ({ outbox }, { peer, eventId, actor }) => {
    const skipped = await outbox.skip({ destination: peer, eventId }, actor);
    if (skipped === 'recorded') return done(`Skipped, by ${actor}: ${eventId} of ${peer}.`);
    return unchanged(await sentState(outbox, peer, eventId), peer, eventId);
  }),

  abandon: subcommand(1, async ({ outbox }, { peer, actor, isSure }) => {
    const { open } = await outbox.overview();
    const waiting = open.filter((each) => each.peer === peer).reduce((sum, each) => sum + each.count, 0);
    if (waiting > 0 && !isSure) {
      const words = `This would give up ${waiting} events for ${peer}, for good. Add --yes to do it.`;
      return { isDone: false, words: printable(words) };
    }
    const count = await outbox.abandon(peer, actor, { onBatch: progressOf('Given up', peer) });
    return count > 0 ? done(`Given up, by ${actor}: ${count} of ${peer}.`) : notDone(`nothing waits for ${peer}`);
  }),

  resume: subcommand(1, async ({ outbox }, { peer, actor }) => {
    const resumed = await outbox.resume(peer, actor);
    return resumed === 'recorded' ? done(`Resumed, by ${actor}: ${peer}.`) : notDone(`${peer} is not stopped`);
  }),
};

/** Reads the arguments of `oncekit messages`. @throws UsageError that says what does not exist */
export function readMessageAct([name, ...args]: string[]): Act {
  return readSubcommand('messages', name, ACTS)(args);
}

type Given = ReturnType<typeof readMessageArgs>;

/** Makes a subcommand that takes so many names: a destination or a source, and the id of an event. */
function subcommand(names: number, run: (admin: MessagesAdmin, given: Given) => Promise<CommandResult>) {
  return (args: string[]): Act => {
    const given = readMessageArgs(args, names);
    return (database) => run(bareMessagesAdmin(database), given);
  };
}

function readMessageArgs(args: string[], names: number) {
  const { values, positionals } = readArgs(args, OPTIONS, names);
  const [peer = '', eventId = ''] = positionals.map((each) => readName('A name', each));
  const boxes = readBoxes(values.box);
  const actor = readActor(values.actor);
  const states = readStates(values.state, boxes);
  return { peer, eventId, actor, boxes, states, limit: readLimit(values.limit), isSure: values.yes ?? false };
}

function readBoxes(name: string | undefined): Box[] {
  const all = Object.keys(STATES) as Box[];
  const boxes = all.filter((box) => name === undefined || box === name);
  if (boxes.length > 0) return boxes;
  throw new UsageError(`There is no box "${name}".`, `There is: ${all.join(', ')}.`);
}

function readStates(name: string | undefined, boxes: Box[]): { [B in Box]: (typeof STATES)[B][number][] } {
  const wanted = name === undefined ? UNSETTLED : [name];
  const isWanted = (box: Box) => (state: string) => boxes.includes(box) && wanted.includes(state);
  const states = { outbox: STATES.outbox.filter(isWanted('outbox')), inbox: STATES.inbox.filter(isWanted('inbox')) };
  if (states.outbox.length + states.inbox.length > 0) return states;
  const known = new Set(boxes.flatMap((box): readonly string[] => STATES[box]));
  throw new UsageError(`There is no state "${name}".`, `There is: ${[...known].join(', ')}.`);
}

/** Says how far an act on many is, apart from its result: what it has done stays done where it breaks off. */
const progressOf = (done: string, peer: string) => (count: number) => {
  if (count % TOLD_EACH === 0) console.error(printable(`${done} so far: ${count} of ${peer} …`));
};

async function sentState(outbox: MessagesAdmin['outbox'], destination: string, eventId: string) {
  const found = await outbox.find(eventId);
  return found?.deliveries.find((each) => each.destination === destination)?.state;
}

function listed<Row>(title: string, pages: MessagePage<Row>[], cells: (row: Row) => string[]): string {
  const rows = pages.flatMap((each) => each.rows.map(cells));
  const more = pages.some(({ hasMore }) => hasMore) ? '\nThere are more: see --state and --limit.' : '';
  return rows.length === 0 ? `${title}: nothing.` : `${title}:\n${table(rows)}${more}`;
}

function unchanged(state: string | undefined, peer: string, eventId: string): CommandResult {
  return notDone(`${eventId} of ${peer} ${state ? `is ${state}` : 'does not exist'}`);
}

/** An event on its way to a destination, in words. */
function sentCells(row: DeliveryRow): string[] {
  const { state, type, aggregate, sequence, destination, eventId, attempts, waitsFor, nextAttemptAt } = row;
  const next = waitsFor
    ? `waits for #${waitsFor.sequence}${waitsFor.state === 'dead' ? ', a dead letter' : ''}`
    : due(nextAttemptAt);
  const place = `${aggregate} #${sequence}`;
  const tried = counted(attempts, 'attempt');
  return [state, destination, eventId, type, place, tried, ago(row.createdAt), next, row.lastError ?? ''];
}

/** A received event, in words. */
function receivedCells(row: ReceivedSummary): string[] {
  const { state, source, eventId, attempts, receivedAt, nextAttemptAt, lastError } = row;
  return [state, source, eventId, counted(attempts, 'attempt'), ago(receivedAt), due(nextAttemptAt), lastError ?? ''];
}

function ago(at: Date): string {
  return `${span(Date.now() - at.getTime())} old`;
}

function due(at: Date | null): string {
  if (!at) return '';
  const ms = at.getTime() - Date.now();
  return ms <= 0 ? 'due now' : `due in ${span(ms)}`;
}

/** Makes one without destinations and sources: all that a person does here happens in the database. */
function bareMessagesAdmin({ prisma, tables }: Parameters<Act>[0]) {
  const kit = { prisma, ...(tables && { tables }) };
  return createMessagesAdmin({ outbox: createOutbox({ ...kit, destinations: [] }), inbox: createInbox(kit) });
}

async function run(args: string[]): Promise<number> {
  return await runOnDatabase(readMessageAct(args));
}

export const messages: Command = { help, run };
