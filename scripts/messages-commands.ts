import { createMessagesAdmin } from 'oncekit/admin';
import { createInbox, createOutbox } from 'oncekit/messaging';
import { printable, table } from '../lib/cli/table.ts';
import type { Client } from '../shop/db.ts';
import type { Asked } from './messages-asked.ts';
import { receivedCells, sentCells } from './messages-table.ts';

type Messages = ReturnType<typeof createMessagesAdmin>;

/** What came of it. Not done: nothing was changed, for the reason that it says. */
interface Done {
  isDone: boolean;
  words: string;
}

/** Does what was asked for. Everything of it happens in the database: no destination is called, or needs its secret. */
export async function run(prisma: Client, asked: Asked): Promise<Done> {
  const [outbox, inbox] = [createOutbox({ prisma, destinations: [] }), createInbox({ prisma })];
  const { isDone, words } = await COMMANDS[asked.command](createMessagesAdmin({ outbox, inbox }), asked);
  return { isDone, words: printable(words) };
}

const COMMANDS: Record<Asked['command'], (messages: Messages, asked: Asked) => Promise<Done>> = {
  list: async ({ outbox, inbox }, { boxes, states, limit }) => {
    const page = { limit, offset: 0 };
    const lines: string[] = [];
    if (boxes.includes('outbox') && states.outbox.length > 0) {
      const pages = await Promise.all(states.outbox.map((state) => outbox.list({ state, ...page })));
      const { stops } = await outbox.overview();
      lines.push(shown('Outbox', pages, sentCells));
      lines.push(...stops.map((stop) => `${stop.destination} is stopped, and its events wait: ${stop.reason}`));
    }
    if (boxes.includes('inbox') && states.inbox.length > 0) {
      const pages = await Promise.all(states.inbox.map((state) => inbox.list({ state, ...page })));
      lines.push(shown('Inbox', pages, receivedCells));
    }
    return done(lines.join('\n'));
  },

  requeue: async ({ outbox, inbox }, { peer, eventId, boxes, actor }) => {
    const ways = {
      outbox: () => outbox.requeue({ destination: peer, eventId }, actor),
      inbox: () => inbox.requeue({ source: peer, eventId }, actor),
    };
    for (const box of boxes) {
      if ((await ways[box]()) === 'recorded')
        return done(`Requeued in the ${box}, by ${actor}: ${eventId} of ${peer}.`);
    }
    const sent = boxes.includes('outbox') ? await sentState(outbox, peer, eventId) : undefined;
    const received = boxes.includes('inbox') ? await inbox.find({ source: peer, eventId }) : undefined;
    return notDone(sent ?? received?.state, peer, eventId);
  },

  'requeue-all': async ({ outbox }, { peer, actor }) => {
    const count = await outbox.requeueAll(peer, actor);
    if (count > 0) return done(`Requeued, by ${actor}: ${count} of ${peer}.`);
    return { isDone: false, words: `Nothing was done: ${peer} has no dead letters.` };
  },

  skip: async ({ outbox }, { peer, eventId, actor }) => {
    const skipped = await outbox.skip({ destination: peer, eventId }, actor);
    if (skipped === 'recorded') return done(`Skipped, by ${actor}: ${eventId} of ${peer}.`);
    return notDone(await sentState(outbox, peer, eventId), peer, eventId);
  },

  abandon: async ({ outbox }, { peer, actor, isSure }) => {
    const { open } = await outbox.overview();
    const waiting = open.filter((each) => each.peer === peer).reduce((sum, each) => sum + each.count, 0);
    if (waiting > 0 && !isSure) {
      return {
        isDone: false,
        words: `This would give up ${waiting} events for ${peer}, for good. Add --yes to do it.`,
      };
    }
    const count = await outbox.abandon(peer, actor);
    if (count > 0) return done(`Given up, by ${actor}: ${count} of ${peer}.`);
    return { isDone: false, words: `Nothing was done: nothing waits for ${peer}.` };
  },

  resume: async ({ outbox }, { peer, actor }) => {
    if ((await outbox.resume(peer, actor)) === 'recorded') return done(`Resumed, by ${actor}: ${peer}.`);
    return { isDone: false, words: `Nothing was done: ${peer} is not stopped.` };
  },
};

async function sentState(outbox: Messages['outbox'], destination: string, eventId: string) {
  const found = await outbox.find(eventId);
  return found?.deliveries.find((each) => each.destination === destination)?.state;
}

function shown<Row>(title: string, pages: { rows: Row[]; hasMore: boolean }[], cells: (row: Row) => string[]): string {
  const rows = pages.flatMap((each) => each.rows.map(cells));
  const more = pages.some(({ hasMore }) => hasMore) ? '\nThere are more: see --state and --limit.' : '';
  return rows.length === 0 ? `${title}: nothing.` : `${title}:\n${table(rows)}${more}`;
}

function done(words: string): Done {
  return { isDone: true, words };
}

function notDone(state: string | undefined, peer: string, eventId: string): Done {
  return {
    isDone: false,
    words: `Nothing was done: ${eventId} of ${peer} ${state ? `is ${state}` : 'does not exist'}.`,
  };
}
