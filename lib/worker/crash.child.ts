/** The worker that `crash.db.test.ts` kills: takes jobs, says which, and finishes none. */
import { startWorker } from './worker.ts';

const [connectionString = ''] = process.argv.slice(2);
const nothing = { taken: 0, settled: 0, unknown: 0, unfinished: 0 };

startWorker({
  connectionString,
  idempotency: { completeDue: async () => nothing, reap: async () => 0 },
  tasks: {
    letter: async (payload) => {
      process.stdout.write(`${JSON.stringify(payload)}\n`);
      await new Promise(() => {});
    },
  },
});
