import { cronRoute } from 'oncekit/next';
import { idempotency } from '../../../../shop/idempotency.ts';
import { inbox } from '../../../../shop/inbox.ts';
import { outbox } from '../../../../shop/outbox.ts';
import '../../../../shop/operations.ts'; // the completer knows the operations whose modules were imported

export const { GET, POST } = cronRoute({ ...idempotency, outbox, inbox }, { secret: process.env.CRON_SECRET });
