import type { Batches } from '../core/batches.ts';
import { tryOr } from '../core/errors.ts';
import type {
  DeliveryFilter,
  DeliveryRow,
  FoundEvent,
  FoundReceived,
  GivenUp,
  Inbox,
  InboxFilter,
  InboxRow,
  MessageRecord,
  Open,
  Outbox,
  Stop,
} from '../messaging/index.ts';
import type { FoundDelivery } from '../store/messages.ts';
import { type AuditLog, auditLog, type Operated } from './operations.ts';
import { pick, type Shape, shapeOf } from './redaction.ts';

export type { DeliveryFilter, DeliveryRow, FoundDelivery, GivenUp, InboxFilter, MessageRecord, Open, Stop };

/** One page of a list, and whether there is another. */
export interface MessagePage<Row> {
  rows: Row[];
  hasMore: boolean;
}

/** An event that goes out, as an admin may see it. */
export interface SentDetail
  extends Pick<FoundEvent, 'eventId' | 'type' | 'aggregate' | 'sequence' | 'derivedKey' | 'createdAt' | 'records'> {
  payload: Shape;
  /** Their values may hold tokens and addresses. */
  headerNames: string[];
  deliveries: FoundDelivery[];
}

/** A received event as the list shows it: nothing of what was sent or answered. */
export type ReceivedSummary = Omit<InboxRow, 'payloadHash' | 'result'>;

/** A received event as an admin may see it. */
export interface ReceivedDetail extends ReceivedSummary {
  /** The first bytes of the hash of what counts of its payload, in hex. */
  hashPrefix: string;
  /** Null once it is processed, and where it could not be kept. */
  payload: Shape | null;
  /** The result of its effect; null where there is none. */
  result: Shape | null;
  records: MessageRecord[];
}

/**
 * The outbox as an admin may see and change it. An operation is recorded with its actor in the statement that does it. The
 * record outlives the event.
 */
export interface OutboxAdmin {
  /** Messages under way or dead, by destination, and which destinations are stopped. */
  overview(): Promise<{ open: Open[]; stops: Stop[] }>;
  /** Deliveries, newest event first. */
  list(filter: DeliveryFilter): Promise<MessagePage<DeliveryRow>>;
  find(eventId: string): Promise<SentDetail | null>;
  /** Sends a dead letter, or one that was skipped, again from its first attempt on. */
  requeue(delivery: GivenUp, actor: string): Promise<Operated>;
  /**
   * The same for all dead letters that a destination has, in batches: each is committed by itself, or in the transaction that was
   * joined. Returns how many. What is left where `signal` has ended it, the next call does.
   */
  requeueAll(destination: string, actor: string, how?: Batches): Promise<number>;
  /** Lets an aggregate go on without its dead letter. */
  skip(delivery: GivenUp, actor: string): Promise<Operated>;
  /** Skips all that waits for a destination that is gone for good, in such batches. Returns how many. */
  abandon(destination: string, actor: string, how?: Batches): Promise<number>;
  /** Lets a stopped destination go on. */
  resume(destination: string, actor: string): Promise<Operated>;
}

/** The inbox as an admin may see and change it. */
export interface InboxAdmin {
  /** Events that failed or are dead, by source. */
  overview(): Promise<{ open: Open[] }>;
  /** Received events, newest first. */
  list(filter: InboxFilter): Promise<MessagePage<ReceivedSummary>>;
  find(event: { source: string; eventId: string }): Promise<ReceivedDetail | null>;
  /** Lets a dead letter be tried again. */
  requeue(event: { source: string; eventId: string }, actor: string): Promise<Operated>;
}

/** An app that has set up one of them only gives the other one bare: `createInbox({ prisma })`. */
export interface MessagesAdminOptions {
  outbox: Pick<Outbox, 'open' | 'stops' | 'list' | 'find' | 'requeue' | 'requeueAll' | 'skip' | 'abandon' | 'resume'>;
  inbox: Pick<Inbox<unknown>, 'open' | 'list' | 'find' | 'requeue'>;
  /** Called with one line for each thing that a person did. What `createAdmin` is given. */
  log?: AuditLog | undefined;
}

type MessageAct = { type: string; actor: string; peer: string; event?: string };

/**
 * The functions behind an admin view of messages. Payloads, results and the values of headers do not leave it; every
 * operation is a compare-and-set on the state, so a second click has `changed` nothing and leaves no second record.
 * The caller has checked that an admin asks.
 *
 * @throws StoreUnavailableError from each of them when the database cannot be asked
 */
export function createMessagesAdmin({ outbox, inbox, log }: MessagesAdminOptions): {
  outbox: OutboxAdmin;
  inbox: InboxAdmin;
} {
  const tell = auditLog(log);
  // Where nothing was done, there is no line either.
  const recorded = (isDone: boolean, act: MessageAct): Operated => {
    if (isDone) tell(act);
    return isDone ? 'recorded' : 'changed';
  };
  // Also of an act that breaks off: what its batches have done is done.
  const counted = async (act: MessageAct, run: (how: Batches) => Promise<number>, how: Batches = {}) => {
    let done = 0;
    const onBatch = (count: number) => {
      done = count;
      how.onBatch?.(count);
    };
    try {
      done = await run({ ...how, onBatch });
      return done;
    } finally {
      if (done > 0) tell({ ...act, detail: { messages: String(done) } });
    }
  };
  return {
    outbox: {
      overview: async () => {
        const [open, stops] = await Promise.all([outbox.open(), outbox.stops()]);
        return { open, stops };
      },
      list: (filter) => paged(filter, (more) => outbox.list(more)),
      find: async (eventId) => sentDetail(await outbox.find(eventId)),
      requeue: async (delivery, actor) =>
        recorded(await outbox.requeue(delivery, actor), { type: 'requeued', actor, ...named(delivery) }),
      requeueAll: (peer, actor, how) =>
        counted({ type: 'requeued', actor, peer }, (batches) => outbox.requeueAll(peer, actor, batches), how),
      skip: async (delivery, actor) =>
        recorded(await outbox.skip(delivery, actor), { type: 'skipped', actor, ...named(delivery) }),
      abandon: (peer, actor, how) =>
        counted({ type: 'abandoned', actor, peer }, (batches) => outbox.abandon(peer, actor, batches), how),
      resume: async (peer, actor) => recorded(await outbox.resume(peer, actor), { type: 'resumed', actor, peer }),
    },
    inbox: {
      overview: async () => ({ open: await inbox.open() }),
      list: (filter) => paged(filter, async (more) => (await inbox.list(more)).map(receivedSummary)),
      find: async (event) => receivedDetail(await inbox.find(event)),
      requeue: async (id, actor) =>
        recorded(await inbox.requeue(id, actor), { type: 'requeued', actor, peer: id.source, event: id.eventId }),
    },
  };
}

const named = ({ destination, eventId }: GivenUp) => ({ peer: destination, event: eventId });

/** One row more than asked for tells whether there are more. */
async function paged<Filter extends { limit: number }, Row>(
  filter: Filter,
  list: (filter: Filter) => Promise<Row[]>,
): Promise<MessagePage<Row>> {
  const rows = await list({ ...filter, limit: filter.limit + 1 });
  return { rows: rows.slice(0, filter.limit), hasMore: rows.length > filter.limit };
}

function sentDetail(found: FoundEvent | undefined): SentDetail | null {
  if (!found) return null;
  return {
    ...pick(found, 'eventId', 'type', 'aggregate', 'sequence', 'derivedKey', 'createdAt', 'deliveries', 'records'),
    payload: shapeOfJson(found.payload),
    headerNames: Object.keys(found.headers).sort(),
  };
}

/** Names the fields that leave, as `pick` does. */
function receivedSummary(row: InboxRow): ReceivedSummary {
  const { source, eventId, state, attempts, mismatches, lastError, receivedAt, processedAt, nextAttemptAt } = row;
  return { source, eventId, state, attempts, mismatches, lastError, receivedAt, processedAt, nextAttemptAt };
}

function receivedDetail(found: FoundReceived | undefined): ReceivedDetail | null {
  if (!found) return null;
  const { payload, result, records } = found;
  return {
    ...receivedSummary(found),
    hashPrefix: Buffer.from(found.payloadHash).toString('hex', 0, 6),
    payload: payload === null ? null : shapeOfJson(payload),
    result: result === null ? null : shapeOfJson(result),
    records,
  };
}

/** A row that cannot be read must not hide the rest of its page. */
function shapeOfJson(json: string): Shape {
  return tryOr(() => shapeOf(JSON.parse(json)), 'unreadable');
}
