import { cronRoute } from 'oncekit/next';
import { idempotency } from '../../../../lib/demo/idempotency.ts';
import '../../../../lib/demo/operations.ts'; // the completer knows the operations whose modules were imported

export const { GET, POST } = cronRoute(idempotency, { secret: process.env.CRON_SECRET });
