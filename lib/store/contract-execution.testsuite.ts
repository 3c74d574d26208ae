import { describe, expect, test } from 'vitest';
import { claimOf, DONE, HOW, type Suite } from './contract-harness.fixture.ts';
import type { Completion } from './rows.ts';

export function executionContract<Tx>(harness: Suite<Tx>): void {
  describe('one execution', () => {
    test('S1 key, effect and answer are committed together', async () => {
      const { store, write, isWritten } = harness();
      const claim = claimOf({ mintedAt: new Date(Date.now() - 1000) });
      const run = async (tx: Tx): Promise<Completion> => {
        await write(tx, claim.key);
        return DONE;
      };
      const executed = await store.execute(claim, run, HOW);
      const { tenant, principal, operation, key, fingerprint, mintedAt } = claim;
      expect(executed).toMatchObject({
        kind: 'committed',
        row: { tenant, principal, operation, key, mintedAt, state: 'succeeded', result: '"done"', schemaVersion: 3 },
      });
      expect(await isWritten(key)).toBe(true);
      const row = await store.find(claim);
      expect(row).toMatchObject({ fencingToken: 1, attempts: 1, needsAttention: false, settledAt: expect.any(Date) });
      expect(row?.fingerprint).toMatchObject({ version: 1, secretId: 'abc' });
      expect([...(row?.fingerprint?.hash ?? [])]).toEqual([...fingerprint.hash]);
      expect(row).toEqual((executed as { row: unknown }).row);
    });

    test('S1 a refusal is stored as failed, with its effect', async () => {
      const { store, write, isWritten } = harness();
      const claim = claimOf();
      const refused: Completion = { state: 'failed', result: '"sold out"' };
      const executed = await store.execute(
        claim,
        async (tx) => {
          await write(tx, claim.key);
          return refused;
        },
        HOW,
      );
      expect(executed).toMatchObject({ kind: 'committed', row: { state: 'failed', result: '"sold out"' } });
      expect(await isWritten(claim.key)).toBe(true);
    });

    test('S2 what run throws rolls everything back, and the key stays usable', async () => {
      const { store, write, isWritten } = harness();
      const claim = claimOf();
      const error = new Error('no stock');
      const thrown = async (tx: Tx): Promise<Completion> => {
        await write(tx, claim.key);
        throw error;
      };
      expect(await store.execute(claim, thrown, HOW)).toEqual({ kind: 'rolled_back', error, why: 'error', at: 'run' });
      expect(await store.find(claim)).toBeUndefined();
      expect(await isWritten(claim.key)).toBe(false);
      expect(await store.execute(claim, async () => DONE, HOW)).toMatchObject({ kind: 'committed' });
    });

    test('C1 a second execution gets the first one’s row, and does not run', async () => {
      const { store, rival } = harness();
      const claim = claimOf();
      await store.execute(claim, async () => DONE, HOW);
      let runs = 0;
      const again = await rival.execute(
        claim,
        async () => {
          runs++;
          return DONE;
        },
        HOW,
      );
      expect(again).toEqual({ kind: 'existing', row: await store.find(claim) });
      expect(runs).toBe(0);
    });

    test('K4 a key is unique per tenant, principal and operation', async () => {
      const { store } = harness();
      const claim = claimOf();
      const others = [
        {},
        { tenant: 'other' },
        { principal: 'bob' },
        { operation: 'refund' },
        { tenant: 'acm', principal: 'eann' },
      ];
      for (const other of others) {
        expect(await store.execute({ ...claim, ...other }, async () => DONE, HOW)).toMatchObject({ kind: 'committed' });
      }
    });

    test('S3 completion with a token that is no longer ours commits nothing', async () => {
      const { store, write, isWritten, overtake } = harness();
      const claim = claimOf();
      const run = async (tx: Tx): Promise<Completion> => {
        await write(tx, claim.key);
        await overtake(tx, claim);
        return DONE;
      };
      const executed = await store.execute(claim, run, HOW);
      expect(executed).toMatchObject({
        kind: 'rolled_back',
        why: 'error',
        at: 'commit',
        error: { name: 'LeaseLostError' },
      });
      expect(await isWritten(claim.key)).toBe(false);
      expect(await store.find(claim)).toBeUndefined();
    });

    test('S2 a statement error that run swallowed is noticed: nothing is committed, and nothing is said to be', async () => {
      const { store, breakStatement, write, isWritten } = harness();
      const claim = claimOf();
      const run = async (tx: Tx): Promise<Completion> => {
        await write(tx, claim.key);
        await breakStatement(tx).catch(() => {});
        return DONE;
      };
      expect(await store.execute(claim, run, HOW)).toMatchObject({ kind: 'rolled_back', why: 'error' });
      expect(await store.find(claim)).toBeUndefined();
      expect(await isWritten(claim.key)).toBe(false);
    });

    test('S2 a statement that fails between completion and COMMIT is noticed as well', async () => {
      const { store, breakStatement } = harness();
      const claim = claimOf();
      let late!: Tx;
      const run = async (tx: Tx): Promise<Completion> => {
        late = tx;
        return DONE;
      };
      const beforeCommit = async () => await breakStatement(late).catch(() => {});
      const executed = await store.execute(claim, run, { ...HOW, beforeCommit });
      // Or it never gets that far, where a transaction is over once its work has returned.
      const row = await store.find(claim);
      expect(executed).toMatchObject(row ? { kind: 'committed', row } : { kind: 'rolled_back', why: 'error' });
    });

    test('H4 an execution that outlasts its time is rolled back as unavailable', async () => {
      const { store, write, isWritten } = harness();
      const claim = claimOf({ waitMs: 0 });
      const run = async (tx: Tx): Promise<Completion> => {
        for (let alive = true; alive; ) await write(tx, claim.key).catch(() => (alive = false));
        return DONE;
      };
      const executed = await store.execute(claim, run, { ...HOW, timeoutMs: 50 });
      expect(executed).toMatchObject({ kind: 'rolled_back', why: 'unavailable' });
      expect(await isWritten(claim.key)).toBe(false);
    });
  });
}
