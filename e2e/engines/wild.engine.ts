import { scripts } from '../fixtures/wild-scripts.ts';
import { playBeside } from '../fixtures/wild-twins.ts';
import { test } from './test.ts';

/** Each form in the wild beside its bare twin, as in e2e/wild-twins.e2e.ts. */

for (const script of scripts) {
  test(script.name, async ({ person, network, db, note }) => {
    const worse = await playBeside(script, { tab: person.tab, network, db });
    if (worse) note(worse);
  });
}
