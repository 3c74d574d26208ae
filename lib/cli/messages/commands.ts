import type { createMessagesAdmin, DeliveryRow, ReceivedSummary } from '../../admin/index.ts';
import { printable } from '../../core/printable.ts';
import { type CommandResult, done, notDone } from '../raw-client.ts';
import { span, table } from '../table.ts';
import type { MessagesRequest } from './arguments.ts';

type MessagesAdmin = ReturnType<typeof createMessagesAdmin>;

/** Runs one command. Nothing is sent: all of it happens in the database. */
export async function runMessages(admin: MessagesAdmin, request: MessagesRequest): Promise<CommandResult> {
  return await COMMANDS[request.command](admin, request);
}

type Does = (admin: MessagesAdmin, request: MessagesRequest) => Promise<CommandResult>;

const COMMANDS: Record<MessagesRequest['command'], Does> = {
  list: async ({ outbox, inbox }, { states, limit }) => {
    const page = { limit, offset: 0 };
    const lines: string[] = [];
    if (states.outbox.length > 0) {
      const pages = await Promise.all(states.outbox.map((state) => outbox.list({ state, ...page })));
      const { stops } = await outbox.overview();
      lines.push(shown('Outbox', pages, sentCells));
      lines.push(
        ...stops.map((stop) => printable(`${stop.destination} is stopped, and its events wait: ${stop.reason}`)),
      );
    }
    if (states.inbox.length > 0) {
      const pages = await Promise.all(states.inbox.map((state) => inbox.list({ state, ...page })));
      lines.push(shown('Inbox', pages, receivedCells));
    }
    return { isDone: true, words: lines.join('\n') };
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
    return unchanged(sent ?? received?.state, peer, eventId);
  },

  'requeue-all': async ({ outbox }, { peer, actor }) => {
    const count = await outbox.requeueAll(peer, actor);
    if (count > 0) return done(`Requeued, by ${actor}: ${count} of ${peer}.`);
    return notDone(`${peer} has no dead letters`);
  },

  skip: async ({ outbox }, { peer, eventId, actor }) => {
    const skipped = await outbox.skip({ destination: peer, eventId }, actor);
    if (skipped === 'recorded') return done(`Skipped, by ${actor}: ${eventId} of ${peer}.`);
    return unchanged(await sentState(outbox, peer, eventId), peer, eventId);
  },

  abandon: async ({ outbox }, { peer, actor, isSure }) => {
    const { open } = await outbox.overview();
    const waiting = open.filter((each) => each.peer === peer).reduce((sum, each) => sum + each.count, 0);
    if (waiting > 0 && !isSure) {
      return {
        isDone: false,
        words: printable(`This would give up ${waiting} events for ${peer}, for good. Add --yes to do it.`),
      };
    }
    const count = await outbox.abandon(peer, actor);
    if (count > 0) return done(`Given up, by ${actor}: ${count} of ${peer}.`);
    return notDone(`nothing waits for ${peer}`);
  },

  resume: async ({ outbox }, { peer, actor }) => {
    if ((await outbox.resume(peer, actor)) === 'recorded') return done(`Resumed, by ${actor}: ${peer}.`);
    return notDone(`${peer} is not stopped`);
  },
};

async function sentState(outbox: MessagesAdmin['outbox'], destination: string, eventId: string) {
  const found = await outbox.find(eventId);
  return found?.deliveries.find((each) => each.destination === destination)?.state;
}

function shown<Row>(title: string, pages: { rows: Row[]; hasMore: boolean }[], cells: (row: Row) => string[]): string {
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
  return [
    state,
    destination,
    eventId,
    type,
    `${aggregate} #${sequence}`,
    tries(attempts),
    ago(row.createdAt),
    next,
    row.lastError ?? '',
  ];
}

/** A received event, in words. */
function receivedCells(row: ReceivedSummary): string[] {
  const { state, source, eventId, attempts, receivedAt, nextAttemptAt, lastError } = row;
  return [state, source, eventId, tries(attempts), ago(receivedAt), due(nextAttemptAt), lastError ?? ''];
}

function tries(attempts: number): string {
  return attempts === 1 ? '1 attempt' : `${attempts} attempts`;
}

function ago(at: Date): string {
  return `${span(Date.now() - at.getTime())} old`;
}

function due(at: Date | null): string {
  if (!at) return '';
  const ms = at.getTime() - Date.now();
  return ms <= 0 ? 'due now' : `due in ${span(ms)}`;
}
