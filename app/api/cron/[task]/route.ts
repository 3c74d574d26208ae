import { cronRoute } from 'oncekit/next';
import { idempotency } from '../../../../lib/demo/idempotency.ts';
import { inbox } from '../../../../lib/demo/inbox.ts';
import { outbox } from '../../../../lib/demo/outbox.ts';
import '../../../../lib/demo/operations.ts'; // the completer knows the operations whose modules were imported

export const { GET, POST } = cronRoute({ ...idempotency, outbox, inbox }, { secret: process.env.CRON_SECRET });
