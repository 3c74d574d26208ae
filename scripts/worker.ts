import { setTimeout as sleep } from 'node:timers/promises';
import { stopOnSignal } from '../lib/cli/stop-signal.ts';
import { onDatabase } from './services/on-database.ts';

const HELP = `npm run worker                 all of what follows, and runs jobs, until it is stopped
npm run worker -- complete     finishes abandoned operations that are due now, and ends
npm run worker -- relay        sends the events that are due, and ends
npm run worker -- inbox        runs received events again that failed and are due, and ends
npm run worker -- reap         deletes settled keys and events past their retention, and ends
npm run worker -- --help       this

Any number of workers may run on one database. DATABASE_URL says which; it must not lead through a pooler in
transaction mode. Ctrl-C or SIGTERM finishes what is running, a second one ends at once.`;

/** For what is under way of the event stream when all else has ended. */
const LAST_MESSAGE_MS = 2000;
const [command, ...rest] = process.argv.slice(2);

async function main(url: string): Promise<void> {
  // Better than a worker that starts and can neither read a stored input nor ask about a payment.
  const [{ required }, { paymentSettings }] = await Promise.all([
    import('../shop/env.ts'),
    import('../shop/payments/settings.ts'),
  ]);
  required('IDEMPOTENCY_SECRET');
  paymentSettings();
  // Late, because they read what has just been checked. The completer knows the operations that were imported.
  const { PASSES, line, startWorker } = await import('oncekit/worker');
  const [{ idempotency }, { outbox }, { inbox }, { jobHandlers }] = await Promise.all([
    import('../shop/idempotency.ts'),
    import('../shop/outbox.ts'),
    import('../shop/inbox.ts'),
    import('../shop/jobs.ts'),
    import('../shop/operations.ts'),
  ]);
  const { flushTelemetry, startTelemetry } = await import('../shop/telemetry.ts');
  startTelemetry('oncekit-worker');
  if (command !== undefined) {
    const run = PASSES[command] as (typeof PASSES)[string];
    console.log(line(command, await run({ ...idempotency, outbox, inbox })));
    await flushTelemetry();
    process.exit();
  }
  const worker = startWorker({
    idempotency,
    outbox,
    inbox,
    connectionString: url,
    tasks: jobHandlers,
    log: console.log,
  });
  console.log(`The worker runs. Jobs: ${Object.keys(jobHandlers).join(', ')}`);
  const stopping = new AbortController();
  const following = process.env.NATS_URL
    ? (await import('../shop/receiver/stream.ts')).followEventStream(process.env.NATS_URL, {
        stopping: stopping.signal,
      })
    : undefined;
  stopOnSignal(() => {
    stopping.abort();
    void worker.stop();
  });
  await worker.ended;
  await Promise.race([following, sleep(LAST_MESSAGE_MS)]);
  await outbox.close().catch(() => {}); // a destination that is away has nothing to be told
  await Promise.race([flushTelemetry(), sleep(LAST_MESSAGE_MS)]);
  // Work that has not ended by now is given up: its lease, or its lock, runs out.
  process.exit();
}

if (command === '--help') {
  console.log(HELP);
} else if (rest.length > 0 || (command !== undefined && !['complete', 'relay', 'inbox', 'reap'].includes(command))) {
  console.error(`There is no "${process.argv.slice(2).join(' ')}".\n\n${HELP}`);
  process.exitCode = 1;
} else {
  await onDatabase(main);
}
