import { describe, expect, test } from 'vitest';
import { claimOf, gate, HOW, type Suite } from './contract-harness.fixture.ts';
import type { HeldKey, LeasedClaim, Write } from './leases.ts';
import type { Store } from './store.ts';

const LEASE_MS = 30_000;
const leased = (): LeasedClaim => ({ ...claimOf(), leaseMs: LEASE_MS, firstToken: 1, input: new Uint8Array([1, 2]) });
const step = (name: string, position: number, kind: 'atomic' | 'capture' = 'atomic') =>
  ({ name, position, kind, result: `"${name}"` }) as const;
const start = (name: string, position: number) =>
  ({ name, position, arguments: new Uint8Array([3]), derivedKey: `key of ${name}`, providerKeyTtlMs: 1000 }) as const;
const settle = { state: 'succeeded', result: '"done"', schemaVersion: 4 } as const;

/** Claims a key, with what is written at once. */
async function begun<Tx>(store: Store<Tx>, write: Write = {}, claim = leased()): Promise<HeldKey> {
  let held: HeldKey | undefined;
  const { kind } = await store.begin(
    claim,
    async (opened) => {
      held = opened.held;
      return write;
    },
    HOW,
  );
  if (kind !== 'committed' || !held) throw new Error(`The claim came to ${kind}.`);
  return held;
}

export function leasesContract<Tx>(harness: Suite<Tx>): void {
  describe('a key under a lease', () => {
    test('P2 claim, effect, finished steps and a call that is about to be sent are committed together', async () => {
      const { store, rival, write, isWritten } = harness();
      const claim = leased();
      const seen: unknown[] = [];
      const ended = await store.begin(
        claim,
        async ({ tx, held }) => {
          await write(tx, claim.key);
          seen.push(await rival.find(claim), await rival.takeOver(held.id, LEASE_MS, true));
          const steps = [step('id', 1, 'capture'), step('order_created', 2)];
          return { steps, start: start('charge_created', 3) };
        },
        HOW,
      );
      expect(ended).toEqual({ kind: 'committed' });
      expect(seen).toEqual([undefined, undefined]);
      expect(await isWritten(claim.key)).toBe(true);
      const row = await store.find(claim);
      expect(row).toMatchObject({ state: 'in_progress', recoveryPoint: 'order_created', leaseUntil: expect.any(Date) });
      const steps = await store.steps(claim);
      expect(steps.map(({ name, kind, state, result, sends }) => [name, kind, state, result, sends])).toEqual([
        ['id', 'capture', 'done', '"id"', 0],
        ['order_created', 'atomic', 'done', '"order_created"', 0],
        ['charge_created', 'foreign', 'started', null, 1],
      ]);
      expect(steps[2]).toMatchObject({ derivedKey: 'key of charge_created', fencingToken: 1, notExecuted: 0 });
      expect([...(steps[2]?.arguments ?? [])]).toEqual([3]);
    });

    test('S2 what is thrown in the transaction of the claim leaves nothing of it, and the key usable', async () => {
      const { store, write, isWritten } = harness();
      const claim = leased();
      const error = new Error('no stock');
      const thrown = async ({ tx }: { tx: Tx }): Promise<Write> => {
        await write(tx, claim.key);
        throw error;
      };
      expect(await store.begin(claim, thrown, HOW)).toEqual({ kind: 'rolled_back', error, why: 'error' });
      expect([await store.find(claim), await isWritten(claim.key)]).toEqual([undefined, false]);
      expect(await begun(store, {}, claim)).toMatchObject({ fencingToken: 1, state: 'in_progress' });
    });

    test('C1 of two claims at once one runs; the other hears what stands in its way', async () => {
      const { store, rival } = harness();
      const claim = leased();
      const [started, end] = [gate(), gate()];
      const first = store.begin(
        claim,
        async () => {
          started.open();
          await end.opened;
          return {};
        },
        HOW,
      );
      await started.opened;
      const never = async (): Promise<Write> => {
        throw new Error('It ran twice.');
      };
      expect(await rival.begin({ ...claim, waitMs: 0 }, never, HOW)).toEqual({ kind: 'locked' });
      const second = rival.begin(claim, never, HOW);
      await harness().untilWaiting(1);
      end.open();
      expect(await first).toEqual({ kind: 'committed' });
      expect(await second).toMatchObject({ kind: 'existing', row: { state: 'in_progress' } });
    });

    test('S1 the last step and the answer are committed together, and erase what the key was kept for', async () => {
      const { store, write, isWritten } = harness();
      const held = await begun(store, { steps: [step('order_created', 1)], start: start('charge_created', 2) });
      const paid = { knownBy: 'answer', reference: 'pi_1', amount: '$9.00' } as const;
      await store.finishForeign(held, LEASE_MS, { name: 'charge_created', position: 2, result: '"paid"', ...paid });
      const { key } = held.id;
      const ended = await store.transact(
        held,
        LEASE_MS,
        async ({ tx }) => {
          await write(tx, key);
          return { steps: [step('finished', 3)], settle };
        },
        HOW,
      );
      const settled = { state: 'succeeded', result: '"done"', schemaVersion: 4, recoveryPoint: 'finished' };
      expect(ended).toMatchObject({ kind: 'committed', row: settled });
      expect(await store.find(held.id)).toMatchObject({ ...settled, leaseUntil: null, nextAttemptAt: null });
      expect(await isWritten(key)).toBe(true);
      const steps = await store.steps(held.id);
      expect(steps.map(({ name, result, arguments: stored }) => [name, result, stored])).toEqual([
        ['order_created', null, null],
        ['charge_created', null, null],
        ['finished', null, null],
      ]);
      expect(steps[1]).toMatchObject(paid);
    });

    test('S1 a key may be claimed and settled in one transaction', async () => {
      const { store } = harness();
      const held = await begun(store, { steps: [step('all', 1)], settle });
      expect(await store.find(held.id)).toMatchObject({ state: 'succeeded', recoveryPoint: 'all', attempts: 1 });
    });

    test('S3 an executor that was overtaken writes nothing, whatever its transaction ends in', async () => {
      const { store, rival, write, isWritten } = harness();
      for (const last of [{ settle }, { steps: [step('late', 1)] }, { start: start('late', 1) }, {}]) {
        const held = await begun(store);
        await rival.suspend(held, { pauseMs: 1000, attentionAfterMs: 1e9 });
        const ended = await store.transact(
          held,
          LEASE_MS,
          async ({ tx }) => {
            await write(tx, held.id.key);
            return last;
          },
          HOW,
        );
        expect(ended).toMatchObject({ kind: 'rolled_back', why: 'error', error: { name: 'LeaseLostError' } });
        expect([await isWritten(held.id.key), await store.steps(held.id)]).toEqual([false, []]);
      }
    });

    test('S3 what is to be written of a key that has changed hands within the transaction rolls all of it back', async () => {
      const { store, write, isWritten, overtake } = harness();
      for (const last of [{ settle }, { steps: [step('late', 1)] }, { start: start('late', 1) }, {}]) {
        const claim = leased();
        const ended = await store.begin(
          claim,
          async ({ tx }) => {
            await write(tx, claim.key);
            await overtake(tx, claim);
            return last;
          },
          HOW,
        );
        expect(ended).toMatchObject({ kind: 'rolled_back', why: 'error', error: { name: 'LeaseLostError' } });
        expect([await isWritten(claim.key), await store.find(claim)]).toEqual([false, undefined]);
      }
    });

    test('what runs inside is the transaction’s, from wherever it is called', async () => {
      const { store, write, isWritten } = harness();
      const claim = leased();
      const opened = gate<() => Promise<void>>();
      const end = gate<Write | Error>();
      const ended = store.begin(
        claim,
        async ({ tx, inside }) => {
          opened.open(() => inside(() => write(tx, claim.key)));
          const how = await end.opened;
          if (how instanceof Error) throw how;
          return how;
        },
        HOW,
      );
      await (await opened.opened)();
      expect(await isWritten(claim.key)).toBe(false);
      end.open(new Error('rolled back'));
      expect(await ended).toMatchObject({ kind: 'rolled_back' });
      expect(await isWritten(claim.key)).toBe(false);
    });
  });
}
