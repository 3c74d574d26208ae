import { asked } from './messages-asked.ts';
import { onDatabase } from './services/on-database.ts';

const HELP = `npm run messages -- list                                      what is not settled, newest first
npm run messages -- requeue <destination|source> <event id>   tries a dead letter again, or one that was skipped
npm run messages -- requeue-all <destination>                 tries all its dead letters again
npm run messages -- skip <destination> <event id>             lets a destination go on without its dead letter
npm run messages -- abandon <destination>                     gives up all that waits for a destination that is gone
npm run messages -- resume <destination>                      lets a destination go on that was stopped
npm run messages -- --help                                    this

  --yes            for abandon: yes, all of it
  --as <name>      who does it, for the record. Left out: the user of this machine
  --box <box>      outbox or inbox. Left out: both; requeue looks into the outbox first
  --state <state>  for list: dead, pending, delivered, skipped (outbox), dead, failed, processed (inbox)
  --limit <n>      for list: how many of each state, at most 1000. Left out: 50

DATABASE_URL says which database. Payloads are not shown. Ends with 0 when it is done, with 1 when nothing was done, and
says why, and with 2 when it was asked for something that does not exist.`;

try {
  const what = asked(process.argv.slice(2));
  if (!what) console.log(HELP);
  else
    await onDatabase(async (url) => {
      const [{ createClient }, { run }] = await Promise.all([
        import('../shop/db.ts'),
        import('./messages-commands.ts'),
      ]);
      const client = createClient(url, { max: 2 });
      try {
        const { isDone, words } = await run(client, what);
        if (isDone) return console.log(words);
        console.error(words);
        process.exitCode = 1;
      } finally {
        await client.$disconnect();
      }
    });
} catch (error) {
  console.error(`${(error as Error).message}\n\n${HELP}`);
  process.exitCode = 2;
}
