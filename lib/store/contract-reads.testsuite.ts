import { describe, expect, test } from 'vitest';
import { claimOf, DONE, HOW, type Suite } from './contract-harness.testsuite.ts';
import type { Completion } from './store.ts';

const FAILED: Completion = { state: 'failed', result: '"no"' };
const MINUTE = 60_000;

export function readsContract<Tx>(harness: Suite<Tx>): void {
  describe('find and events', () => {
    test('X1 a row is found under its own scope alone', async () => {
      const { store } = harness();
      const claim = claimOf();
      await store.execute(claim, async () => DONE, HOW);
      expect(await store.find(claim)).toMatchObject({ key: claim.key });
      for (const other of [{ tenant: 'other' }, { principal: 'bob' }, { operation: 'refund' }, { key: 'other' }]) {
        expect(await store.find({ ...claim, ...other })).toBeUndefined();
        expect(await store.probe({ ...claim, ...other })).toEqual({ kind: 'absent' });
      }
    });

    test('events come back oldest first, with their details, of their key alone', async () => {
      const { store } = harness();
      const claim = claimOf();
      await store.recordEvent(claim, { type: 'payload_mismatch', actor: 'client', detail: null });
      await store.recordEvent(claim, { type: 'fenced', actor: 'admin ö', detail: { why: "it's stuck" } });
      await store.recordEvent({ ...claim, principal: 'bob' }, { type: 'fenced', actor: 'client', detail: null });
      expect(await store.events(claim)).toEqual([
        { type: 'payload_mismatch', actor: 'client', detail: null, at: expect.any(Date) },
        { type: 'fenced', actor: 'admin ö', detail: { why: "it's stuck" }, at: expect.any(Date) },
      ]);
    });
  });

  describe('list and count', () => {
    /** Rows of an operation that no other test uses, oldest first. */
    async function rows(operation: string) {
      const { store, age } = harness();
      const claims = ['b', 'a', 'c%', 'd'].map((name, i) =>
        claimOf({ operation, key: `${name}-${operation}`, principal: `user-${i}` }),
      );
      for (const [i, claim] of claims.entries()) {
        if (i === 3) await store.fence(claim);
        else await store.execute(claim, async () => (i === 1 ? FAILED : DONE), HOW);
        await age(claim, (claims.length - i) * MINUTE);
      }
      return {
        store,
        names: (page: { rows: { key: string }[] }) => page.rows.map(({ key }) => key.replace(`-${operation}`, '')),
      };
    }

    test('rows are listed newest first, a page at a time', async () => {
      const { store, names } = await rows('list.pages');
      const page = (limit: number, offset: number) => store.list({ operation: 'list.pages', limit, offset });
      expect(names(await page(10, 0))).toEqual(['d', 'c%', 'a', 'b']);
      expect([names(await page(2, 0)), (await page(2, 0)).hasMore]).toEqual([['d', 'c%'], true]);
      expect([names(await page(2, 2)), (await page(2, 2)).hasMore]).toEqual([['a', 'b'], false]);
      expect(await page(2, 4)).toEqual({ rows: [], hasMore: false });
    });

    test('rows are listed by state, and by how a key or principal begins', async () => {
      const { store, names } = await rows('list.filter');
      const found = async (more: object) =>
        names(await store.list({ operation: 'list.filter', limit: 10, offset: 0, ...more }));
      expect(await found({ state: 'succeeded' })).toEqual(['c%', 'b']);
      expect(await found({ state: 'abandoned' })).toEqual(['d']);
      expect(await found({ search: 'a-' })).toEqual(['a']);
      expect(await found({ search: 'user-2' })).toEqual(['c%']);
      expect(await found({ search: 'user' })).toEqual(['d', 'c%', 'a', 'b']);
      expect(await found({ search: 'ser' })).toEqual([]);
      expect(await found({ search: '' })).toHaveLength(4);
    });

    test('what is searched for is text and not a pattern', async () => {
      const { store, names } = await rows('list.text');
      const found = async (search: string) =>
        names(await store.list({ operation: 'list.text', search, limit: 10, offset: 0 }));
      expect(await found('c%')).toEqual(['c%']);
      for (const pattern of ['%', '_', "'", '\\']) expect(await found(pattern)).toEqual([]);
    });

    test('rows are counted by state', async () => {
      const { store } = harness();
      const before = await store.countByState();
      await rows('count');
      const after = await store.countByState();
      const more = (state: 'succeeded' | 'failed' | 'abandoned') => (after[state] ?? 0) - (before[state] ?? 0);
      expect([more('succeeded'), more('failed'), more('abandoned')]).toEqual([2, 1, 1]);
      expect(after).not.toHaveProperty('unknown');
    });
  });
}
