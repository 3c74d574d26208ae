/** A worker that `soak.db.test.ts` kills. */
import { createClient } from '../../shop/db.ts';
import { soakedInbox, soakedOutbox } from './soak.fixture.ts';
import { startWorker } from './worker.ts';

const [connectionString = '', address = '', number = ''] = process.argv.slice(2);
const nothing = { taken: 0, settled: 0, unknown: 0, unfinished: 0 };
const client = createClient(connectionString, { max: 15 });

startWorker({
  connectionString,
  idempotency: { completeDue: async () => nothing, reap: async () => 0 },
  outbox: soakedOutbox(client, address),
  inbox: soakedInbox(client, Number(number), address),
  completeEveryMs: 50,
  relayEveryMs: 50,
  log: (line) => {
    if (process.env.VERBOSE) console.error(number, line);
  },
});
