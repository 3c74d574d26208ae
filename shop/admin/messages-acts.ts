import { z } from 'zod';
import { kit } from './admin.ts';
import { messagesAdmin } from './messages.ts';
import { nameOf } from './names.ts';
import { actsOnce } from './once.ts';

const toDestination = z.object({ destination: nameOf(100) });
/** As the page has shown it: the time tells whether anybody has decided since. */
const delivery = toDestination.extend({ event: nameOf(255), settled_at: z.iso.datetime() });

const schema = z.discriminatedUnion('act', [
  delivery.extend({ act: z.literal('requeue') }),
  delivery.extend({ act: z.literal('skip') }),
  toDestination.extend({ act: z.literal('requeue_all') }),
  toDestination.extend({ act: z.literal('resume') }),
  z.object({ act: z.literal('requeue_received'), source: nameOf(100), event: nameOf(255) }),
]);

/** How long one form requeues, in batches; whoever presses again goes on. Well within what the transaction may take. */
const REQUEUE_MS = 2000;
const TIMEOUT_MS = 10_000;

/** Acts of an admin on messages: with its own key in one transaction, so it is done once, however often it is sent. */
export const messageActs = actsOnce(
  kit
    .operation({ name: 'admin.messages', schema, timeoutMs: TIMEOUT_MS })
    .handler(async ({ input, tx, scope: { principal: actor }, afterCommit }) => {
      const { outbox, inbox } = messagesAdmin({ tx, afterCommit });
      switch (input.act) {
        case 'requeue':
          return (await outbox.requeue(seen(input), actor)) === 'recorded' ? 'requeued' : 'changed';
        case 'skip':
          return (await outbox.skip(seen(input), actor)) === 'recorded' ? 'skipped' : 'changed';
        case 'requeue_all': {
          const signal = AbortSignal.timeout(REQUEUE_MS);
          if ((await outbox.requeueAll(input.destination, actor, { signal })) === 0) return 'none_dead';
          return signal.aborted ? 'requeued_some' : 'requeued_all';
        }
        case 'resume':
          return (await outbox.resume(input.destination, actor)) === 'recorded' ? 'resumed' : 'not_stopped';
        case 'requeue_received': {
          const received = { source: input.source, eventId: input.event };
          try {
            return (await inbox.requeue(received, actor)) === 'recorded' ? 'requeued' : 'changed';
          } catch (error) {
            if ((error as Error).name !== 'ConfigurationError') throw error;
            return 'without_handle';
          }
        }
      }
    }),
);

function seen({ destination, event, settled_at }: z.output<typeof delivery>) {
  return { destination, eventId: event, settledAt: new Date(settled_at) };
}
