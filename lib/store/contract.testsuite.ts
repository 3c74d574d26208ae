import { afterAll, beforeAll, describe } from 'vitest';
import { executionContract } from './contract-execution.testsuite.ts';
import type { Harness } from './contract-harness.fixture.ts';
import { leasesContract } from './contract-leases.testsuite.ts';
import { racesContract } from './contract-races.testsuite.ts';
import { readsContract } from './contract-reads.testsuite.ts';
import { thingsContract } from './contract-things.testsuite.ts';

/** The tests that every store must pass, each on a database of its own. */
export function storeContract<Tx>(name: string, makeStore: () => Promise<Harness<Tx>>): void {
  describe(`store contract: ${name}`, () => {
    let harness: Harness<Tx>;
    beforeAll(async () => {
      harness = await makeStore();
    });
    afterAll(() => harness?.close());
    executionContract(() => harness);
    racesContract(() => harness);
    readsContract(() => harness);
    thingsContract(() => harness);
    leasesContract(() => harness); // last: it leaves keys that are not finished
  });
}
