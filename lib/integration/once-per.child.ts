/** The first process of `once-per.db.test.ts`: does a thing under a key, and is killed at a point of it. */
import { createClient } from '../../shop/db.ts';
import { crashOperations } from './once-per.fixture.ts';

const [url = '', way = 'handler', point = '', key = '', thing = ''] = process.argv.slice(2);
const operations = crashOperations(createClient(url), {
  onPoint: (at, { step }) => {
    if ([at, step].filter(Boolean).join(' ') === point) process.kill(process.pid, 'SIGKILL');
  },
});
const outcome = await operations[way as 'handler' | 'phases'].execute({ key, payload: { thing } });
process.stdout.write(`It has not died at ${point}: ${JSON.stringify(outcome)}\n`);
