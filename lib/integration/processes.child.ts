/** The second process of `processes.db.test.ts`: says when it has claimed, and goes on when it is told to. */
import { once } from 'node:events';
import { createInterface } from 'node:readline';
import { createClient } from '../../shop/db.ts';
import { anything, effect, kit } from './kit.fixture.ts';

const [url = '', key = ''] = process.argv.slice(2);
const client = createClient(url);
const input = createInterface({ input: process.stdin });
const say = (what: unknown) => process.stdout.write(`${JSON.stringify(what)}\n`);

const checkout = kit(client)
  .operation({ name: 'checkout', schema: anything, timeoutMs: 20_000 })
  .handler(async ({ tx }) => {
    await effect(tx, key);
    say('claimed');
    await once(input, 'line');
    return 'there';
  });
say(await checkout.execute({ key, payload: {} }));
await client.$disconnect();
input.close();
