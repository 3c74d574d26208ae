import { tabOf } from './engines/chromium.ts';
import { test } from './fixtures/test.ts';
import { scripts } from './fixtures/wild-scripts.ts';
import { playBeside } from './fixtures/wild-twins.ts';

/** Each form in the wild beside its bare twin (app/examples/wild): the same person at both, and never worse with the kit. */

test.describe('beside its twin', { tag: '@all' }, () => {
  for (const script of scripts) {
    test(script.name, async ({ page, network, db }) => {
      await playBeside(script, { tab: tabOf(page), network, db });
    });
  }
});
