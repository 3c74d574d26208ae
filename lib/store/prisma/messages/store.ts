import type { InboxStore, OutboxStore } from '../../messages.ts';
import { outside } from '../async-context.ts';
import { assertTransaction, type RawQueries } from '../client.ts';
import { type AskOptions, askingBy, type Db } from '../db.ts';
import { BATCH_MS } from '../timeouts.ts';
import { deliveryQuestions } from './delivery.ts';
import { receive, receptionQuestions } from './inbox.ts';
import { listDeliveries, listReceived, receivedQuestions, sentQuestions } from './list.ts';
import { requeueReceived, sentActQuestions, sentBatchQuestions } from './operate.ts';
import { insertEvent } from './outbox.ts';
import { receivedReapQuestions, sentReapQuestions } from './reap.ts';

const BATCH: AskOptions = { withinMs: BATCH_MS };

/** The outbox's part of the port. */
export function outboxOn(db: Db): OutboxStore<RawQueries> {
  const asking = askingBy(db);
  return {
    async insertEvent(tx, event) {
      assertTransaction(tx, 'An event is written by the transaction of its effect. Give `enqueue` its `tx`.');
      return await insertEvent(db.queriesOn(tx), event); // the caller's transaction, and so the caller's error
    },
    ...asking({ ...deliveryQuestions, ...sentQuestions, ...sentActQuestions }),
    ...asking({ list: listDeliveries, ...sentBatchQuestions, ...sentReapQuestions }, BATCH),
  };
}

/** The inbox's part of the port. */
export function inboxOn<Tx>(db: Db): InboxStore<Tx> {
  const asking = askingBy(db);
  return {
    // A transaction of its own, also where a handler receives.
    receive: (event, run, how) => outside(() => receive(db, event, run, how)),
    ...asking({ ...receptionQuestions, ...receivedQuestions, requeue: requeueReceived }),
    ...asking({ list: listReceived, ...receivedReapQuestions }, BATCH),
  };
}
