import { describe, expect, test } from 'vitest';
import { claimOf, DONE, gate, type Harness, HOW, type Suite } from './contract-harness.fixture.ts';
import type { Claim, Completion } from './rows.ts';

const HOUR = 3_600_000;

/** An execution that has claimed its key, and commits or rolls back when it is told to. */
async function holding<Tx>({ rival }: Harness<Tx>, claim: Claim) {
  const claimed = gate();
  const end = gate<'commit' | 'roll back'>();
  const run = async (): Promise<Completion> => {
    claimed.open();
    if ((await end.opened) === 'commit') return { state: 'succeeded', result: '"of the rival"' };
    throw new Error('rolled back');
  };
  const ended = rival.execute(claim, run, HOW);
  await claimed.opened;
  return {
    end: (how: 'commit' | 'roll back') => {
      end.open(how);
      return ended;
    },
  };
}

export function racesContract<Tx>(harness: Suite<Tx>): void {
  describe('duplicates', () => {
    test('C3 a duplicate waits for the uncommitted claim, then gets its row', async () => {
      const { store, untilWaiting } = harness();
      const claim = claimOf();
      const rival = await holding(harness(), claim);
      let runs = 0;
      const waiting = store.execute(
        claim,
        async () => {
          runs++;
          return DONE;
        },
        HOW,
      );
      await untilWaiting(1);
      await rival.end('commit');
      expect(await waiting).toMatchObject({ kind: 'existing', row: { state: 'succeeded', result: '"of the rival"' } });
      expect(runs).toBe(0);
    });

    test('C3 a duplicate runs after the claim it waited for was rolled back', async () => {
      const { store, untilWaiting } = harness();
      const claim = claimOf();
      const rival = await holding(harness(), claim);
      const waiting = store.execute(claim, async () => DONE, HOW);
      await untilWaiting(1);
      await rival.end('roll back');
      expect(await waiting).toMatchObject({ kind: 'committed', row: { result: '"done"' } });
    });

    test('C1 of many duplicates on many connections exactly one runs', async () => {
      const { store, rival } = harness();
      const claim = claimOf();
      let runs = 0;
      const calls = Array.from({ length: 8 }, (_, i) =>
        (i % 2 ? store : rival).execute(
          claim,
          async () => {
            runs++;
            return DONE;
          },
          HOW,
        ),
      );
      const kinds = (await Promise.all(calls)).map(({ kind }) => kind);
      expect(runs).toBe(1);
      expect(kinds.sort()).toEqual(['committed', ...Array(7).fill('existing')]);
    });

    test.each([0, 40])(
      'C3 with waitMs %d a duplicate is told `locked` while the claim stands, and never runs',
      async (waitMs) => {
        const { store } = harness();
        const claim = claimOf();
        const rival = await holding(harness(), claim);
        let runs = 0;
        const started = performance.now();
        const executed = await store.execute(
          { ...claim, waitMs },
          async () => {
            runs++;
            return DONE;
          },
          { ...HOW, timeoutMs: 60_000 }, // longer than the rival has: one that waited so long would run
        );
        expect(executed).toEqual({ kind: 'locked' });
        expect(performance.now() - started).toBeGreaterThanOrEqual(waitMs);
        await rival.end('commit');
        expect(runs).toBe(0);
      },
    );

    test('C3 another key does not wait', async () => {
      const { store } = harness();
      const claim = claimOf();
      const rival = await holding(harness(), claim);
      expect(await store.execute(claimOf({ waitMs: 0 }), async () => DONE, HOW)).toMatchObject({ kind: 'committed' });
      await rival.end('commit');
    });
  });

  describe('K3 the window', () => {
    const minted = (ago: number, more: Partial<Claim> = {}) =>
      claimOf({ mintedAt: new Date(Date.now() - ago), ...more });

    test.each([
      ['expired', 24 * HOUR + 1],
      ['early', -5 * 60_000 - 2000],
    ])('K3 a minted key without a row that is %s never runs', async (kind, ago) => {
      const { store } = harness();
      const claim = minted(ago);
      let runs = 0;
      expect(
        await store.execute(
          claim,
          async () => {
            runs++;
            return DONE;
          },
          HOW,
        ),
      ).toEqual({ kind });
      expect(runs).toBe(0);
      expect(await store.find(claim)).toBeUndefined();
      expect(await store.fence(claim)).toEqual({ kind });
      expect(await store.find(claim)).toBeUndefined();
    });

    test.each([24 * HOUR - 60_000, 0, -5 * 60_000 + 60_000])('K3 a key minted %d ms ago runs', async (ago) => {
      expect(await harness().store.execute(minted(ago), async () => DONE, HOW)).toMatchObject({ kind: 'committed' });
    });

    test('K3 the furthest time that a key can carry is early, not an error', async () => {
      const claim = claimOf({ mintedAt: new Date(2 ** 48 - 1) });
      expect(await harness().store.execute(claim, async () => DONE, HOW)).toEqual({ kind: 'early' });
    });

    test('K3 an existing row decides, however old its key', async () => {
      const { store, age } = harness();
      const claim = minted(1000);
      await store.execute(claim, async () => DONE, HOW);
      await age(claim, 48 * HOUR);
      const old = { ...claim, mintedAt: new Date(Date.now() - 48 * HOUR) };
      expect(await store.execute(old, async () => DONE, HOW)).toMatchObject({ kind: 'existing' });
      expect(await store.fence(old)).toMatchObject({ kind: 'existing', row: { state: 'succeeded' } });
    });

    test('K5 a row expires `retention` after the later of its claim and its minting', async () => {
      const { store } = harness();
      const near = (date: Date | undefined, ms: number) =>
        expect(Math.abs((date?.getTime() ?? 0) - ms)).toBeLessThan(5000);
      const old = minted(20 * HOUR);
      await store.execute(old, async () => DONE, HOW);
      near((await store.find(old))?.expiresAt, Date.now() + old.retentionMs);
      const ahead = minted(-4 * 60_000);
      await store.execute(ahead, async () => DONE, HOW);
      expect((await store.find(ahead))?.expiresAt.getTime()).toBe((ahead.mintedAt?.getTime() ?? 0) + ahead.retentionMs);
    });
  });

  describe('S5 fence', () => {
    test('S5 of an absent key: the tombstone stands, is recorded, and the key never runs', async () => {
      const { store } = harness();
      const claim = claimOf();
      expect(await store.fence(claim)).toEqual({ kind: 'fenced' });
      expect(await store.find(claim)).toMatchObject({ state: 'abandoned', fingerprint: null, result: null });
      expect(await store.events(claim)).toMatchObject([{ type: 'fenced', actor: 'client', at: expect.any(Date) }]);
      let runs = 0;
      const executed = await store.execute(
        claim,
        async () => {
          runs++;
          return DONE;
        },
        HOW,
      );
      expect(executed).toMatchObject({ kind: 'existing', row: { state: 'abandoned' } });
      expect(runs).toBe(0);
    });

    test('S5 loses to a committed claim, whose state it returns', async () => {
      const { store } = harness();
      const claim = claimOf();
      await store.execute(claim, async () => DONE, HOW);
      expect(await store.fence(claim)).toMatchObject({ kind: 'existing', row: { state: 'succeeded' } });
      expect(await store.events(claim)).toEqual([]);
    });

    test.each([
      ['commit', { kind: 'existing', row: { state: 'succeeded' } }],
      ['roll back', { kind: 'fenced' }],
    ] as const)('S5 waits for an uncommitted claim to %s', async (how, fenced) => {
      const { store, untilWaiting } = harness();
      const claim = claimOf();
      const rival = await holding(harness(), claim);
      const fencing = store.fence(claim);
      await untilWaiting(1);
      await rival.end(how);
      expect(await fencing).toMatchObject(fenced);
    });

    test.each([0, 40])('S5 with waitMs %d it is told `locked` while the claim stands', async (waitMs) => {
      const claim = claimOf();
      const rival = await holding(harness(), claim);
      expect(await harness().store.fence({ ...claim, waitMs })).toEqual({ kind: 'locked' });
      await rival.end('commit');
    });

    test('S5 fenced twice, there is one tombstone and one event', async () => {
      const { store, rival } = harness();
      const claim = claimOf();
      const kinds = (await Promise.all([store.fence(claim), rival.fence(claim)])).map(({ kind }) => kind);
      expect(kinds.sort()).toEqual(['existing', 'fenced']);
      expect(await store.events(claim)).toHaveLength(1);
    });
  });

  describe('S5 probe', () => {
    test('S5 nothing, an uncommitted claim and a committed row are told apart', async () => {
      const { store } = harness();
      const claim = claimOf();
      expect(await store.probe(claim)).toEqual({ kind: 'absent' });
      const rival = await holding(harness(), claim);
      expect(await store.probe(claim)).toEqual({ kind: 'locked' });
      await rival.end('commit');
      expect(await store.probe(claim)).toMatchObject({ kind: 'existing', row: { state: 'succeeded' } });
    });

    test('S5 it leaves nothing behind', async () => {
      const { store } = harness();
      const claim = claimOf();
      await store.probe(claim);
      expect(await store.find(claim)).toBeUndefined();
      expect(await store.events(claim)).toEqual([]);
      expect(await store.execute({ ...claim, waitMs: 0 }, async () => DONE, HOW)).toMatchObject({ kind: 'committed' });
    });
  });
}
