import { describe, expect, test } from 'vitest';
import { claimOf, DONE, HOW, refusedAs, type Suite } from './contract-harness.fixture.ts';
import type { Claim, Completion } from './rows.ts';

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

  test('A6 a key that another one has answered is noted with both, once, and with no more than a hundred', async () => {
    const { store } = harness();
    const [holder, follower] = [claimOf(), claimOf({ principal: 'alias' })];
    const toldOf = async (id: Claim) =>
      (await store.events(id)).map(({ type, actor, detail }) => [type, actor, detail]);
    for (let n = 0; n < 2; n++) await store.recordFollower(holder, follower);
    const { principal, key } = follower;
    expect(await toldOf(holder)).toEqual([['followed', 'client', { principal, key }]]);
    expect(await toldOf(follower)).toEqual([['answered_by', 'client', { key: holder.key }]]);
    for (let n = 1; n < 100; n++) await store.recordFollower(holder, claimOf());
    const late = claimOf();
    await store.recordFollower(holder, late);
    expect((await store.events(holder)).length).toBe(100);
    expect(await store.events(late)).toEqual([]);
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
      expect(await found({ search: 'ser' })).toEqual(['d', 'c%', 'a', 'b']);
      expect(await found({ search: 'se' })).toEqual([]);
      expect(await found({ search: '' })).toHaveLength(4);
    });

    test('rows are listed by principal and by when they were claimed, and with those that the app names besides', async () => {
      const { store, names } = await rows('list.range');
      const all = { operation: 'list.range', limit: 10, offset: 0 };
      const found = async (more: object) => names(await store.list({ ...all, ...more }));
      expect([await found({ principal: 'user-1' }), await found({ principal: 'user' })]).toEqual([['a'], []]);
      const { rows: listed } = await store.list(all);
      const [d, c, a] = listed.map(({ claimedAt }) => claimedAt);
      for (const sort of ['newest', 'expires']) {
        expect((await found({ sort, claimedSince: a })).sort()).toEqual(['a', 'c%', 'd']);
        expect((await found({ sort, claimedSince: a, claimedBefore: d })).sort()).toEqual(['a', 'c%']);
        expect((await found({ sort, search: 'user-', claimedBefore: c })).sort()).toEqual(['a', 'b']);
      }
      const also = listed.slice(1, 3);
      expect(await found({ search: 'd-list', also })).toEqual(['d', 'c%', 'a']);
      expect(await found({ search: 'a-list', also })).toEqual(['c%', 'a']);
      expect(await found({ search: 'x', also, state: 'succeeded' })).toEqual(['c%']);
      expect(await found({ search: 'x', also, stuck: true })).toEqual([]);
    });

    test('what is searched for is text and not a pattern', async () => {
      const { store, names } = await rows('list.text');
      const found = async (search: string) =>
        names(await store.list({ operation: 'list.text', search, limit: 10, offset: 0 }));
      expect(await found('c%')).toEqual(['c%']);
      for (const pattern of ['%', '_', "'", '\\']) expect(await found(pattern)).toEqual([]);
    });

    test('rows are listed in the wanted order, a page at a time', async () => {
      const { store, names } = await rows('list.sort');
      const page = async (sort: 'newest' | 'oldest' | 'expires', offset = 0) =>
        names(await store.list({ operation: 'list.sort', sort, limit: 3, offset }));
      expect([await page('newest'), await page('newest', 3)]).toEqual([['d', 'c%', 'a'], ['b']]);
      expect([await page('oldest'), await page('oldest', 3)]).toEqual([['b', 'a', 'c%'], ['d']]);
      // All are kept equally long, so the oldest goes first.
      expect(await page('expires')).toEqual(['b', 'a', 'c%']);
    });

    test('a search goes on to the next page, and shows once what both key and principal begin with', async () => {
      const { store } = harness();
      const operation = 'list.search';
      for (const n of [1, 2, 3]) {
        const claim = claimOf({ operation, key: `both-${n}`, principal: n === 2 ? 'both' : 'ann' });
        await store.execute(claim, async () => DONE, HOW);
      }
      const page = await store.list({ operation, search: 'both', limit: 2, offset: 0 });
      const next = await store.list({ operation, search: 'both', limit: 2, offset: 2 });
      expect([page.rows.map(({ key }) => key), page.hasMore]).toEqual([['both-3', 'both-2'], true]);
      expect([next.rows.map(({ key }) => key), next.hasMore]).toEqual([['both-1'], false]);
    });

    test('A6 things are listed, and found by how they begin, each row once', async () => {
      const { store } = harness();
      const operation = 'list.things';
      const done = async (key: string, more: Partial<Claim>, to = DONE) =>
        void (await store.execute(claimOf({ operation, key, ...more }), async () => to, HOW));
      await done('thing-of-1', { thing: 'cart-1' });
      await done('cart-2', { thing: 'cart-2', principal: 'cart-2' });
      await done('refused', { thing: 'cart-3' }, refusedAs(false));
      await done('none', { principal: 'carter' });
      const found = async (search: string, more: object = {}) => {
        const { rows: listed } = await store.list({ operation, search, limit: 10, offset: 0, ...more });
        return listed.map(({ key, thing }) => `${key} ${thing}`).sort();
      };
      expect(await found('cart-')).toEqual(['cart-2 cart-2', 'thing-of-1 cart-1']);
      expect(await found('cart')).toEqual(['cart-2 cart-2', 'none null', 'thing-of-1 cart-1']);
      expect(await found('cart-3')).toEqual([]);
      expect([await found('', { thing: 'cart-1' }), await found('', { thing: 'cart' })]).toEqual([
        ['thing-of-1 cart-1'],
        [],
      ]);
      expect(await found('cart-', { state: 'in_progress' })).toEqual([]);
      expect(await found('')).toHaveLength(4);
    });

    test('X3 a list holds no fingerprint and no answer', async () => {
      const { store } = await rows('list.redacted');
      const { rows: listed } = await store.list({ operation: 'list.redacted', limit: 10, offset: 0 });
      for (const row of listed) expect(row).not.toHaveProperty('result');
      for (const row of listed) expect(row).not.toHaveProperty('fingerprint');
    });

    test('rows are counted by state', async () => {
      const { store } = harness();
      const { counts: before, storage } = await store.overview(MINUTE);
      await rows('count');
      const { counts: after, ...all } = await store.overview(MINUTE);
      const more = (state: 'succeeded' | 'failed' | 'abandoned') => (after[state] ?? 0) - (before[state] ?? 0);
      expect([more('succeeded'), more('failed'), more('abandoned')]).toEqual([2, 1, 1]);
      expect(after).not.toHaveProperty('unknown');
      expect(all).toMatchObject({ isEstimated: false, stuck: 0, oldestInProgressAt: null });
      expect((all.storage?.rows ?? 0) - (storage?.rows ?? 0)).toBe(4);
      expect(all.storage?.bytes).toBeGreaterThan(0);
    });

    test('tallies add up in the current ten minutes, and say what was prevented', async () => {
      const { store, rival } = harness();
      const counted = { operation: 'tallied', outcome: 'replayed', count: 2 } as const;
      const created = { operation: 'tallied', outcome: 'created', count: 7 } as const;
      const before = await store.overview(MINUTE);
      const since = new Date();
      // Of two processes, in any order: one of them must not wait for the other for ever.
      await Promise.all([store.addTallies([counted, created]), rival.addTallies([created, counted])]);
      const [one, two, ...others] = await store.tallies(since);
      expect(others).toEqual([]);
      expect([one, two]).toMatchObject([
        { operation: 'tallied', outcome: 'created', count: 14 },
        { operation: 'tallied', outcome: 'replayed', count: 4 },
      ]);
      expect(one?.at.getTime()).toBe(Math.floor(since.getTime() / 600_000) * 600_000);
      expect(await store.tallies(new Date(Date.now() + 10 * MINUTE))).toEqual([]);
      const after = await store.overview(MINUTE);
      expect((after.duplicatesPrevented ?? 0) - (before.duplicatesPrevented ?? 0)).toBe(4);
    });
  });
}
