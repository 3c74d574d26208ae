import { describe, expect, test } from 'vitest';
import { claimOf, DONE, gate, HOW, refusedAs, type Suite } from './contract-harness.fixture.ts';
import type { LeasedClaim, Write } from './leases.ts';
import type { LostKey } from './lost-keys.ts';
import type { Claim, Completion } from './rows.ts';

const REFUSED = refusedAs(false);
const LEASE = { leaseMs: 60_000, firstToken: 1, input: new Uint8Array([1]) };
const SETTLE = { schemaVersion: 3 };

let things = 0;

/** Things that two keys want: what decides is the index, whoever comes first and however they wait. */
export function thingsContract<Tx>(harness: Suite<Tx>): void {
  const never = async (): Promise<Completion> => {
    throw new Error('it must not run');
  };
  const done = async () => DONE;
  /** Claims of so many keys for one thing that nobody has done yet. */
  const forOneThing = (more: Partial<Claim> = {}) => {
    const thing = `cart-${++things}`;
    return (again: Partial<Claim> = {}) => claimOf({ thing, ...more, ...again });
  };
  const begin = (claim: Claim, write: Write = {}, store = harness().store) =>
    store.begin({ ...claim, ...LEASE } satisfies LeasedClaim, async () => write, HOW);

  describe.each([
    ['at once', 0],
    ['with patience', 10_000],
  ])('A6 a thing is done once: a claim %s', (_, waitMs) => {
    test('A6 a second key for it does not run, whoever sends it, and gets the row that holds it', async () => {
      const { store, rival } = harness();
      const claim = forOneThing({ waitMs });
      const [first, second, bobs] = [claim(), claim(), claim({ principal: 'bob' })];
      expect(await store.execute(first, done, HOW)).toMatchObject({ kind: 'committed' });
      const row = await store.find(first);
      expect(await rival.execute(second, never, HOW)).toEqual({ kind: 'existing', row });
      expect(await store.execute(bobs, never, HOW)).toEqual({ kind: 'existing', row });
      expect(await begin(claim())).toEqual({ kind: 'existing', row });
      expect(await store.findObstacle({ ...second, thing: undefined })).toBeUndefined();
      expect(await store.findObstacle(second)).toEqual({ kind: 'existing', row });
      expect([await store.thingOf(first), await store.thingOf(second)]).toEqual([first.thing, null]);
    });

    test('A6 the key’s own row comes before the one of its thing', async () => {
      const { store } = harness();
      const claim = forOneThing({ waitMs });
      const own = claimOf({ waitMs });
      await store.execute(claim(), done, HOW);
      await store.execute(own, async () => REFUSED, HOW);
      const again = await store.execute({ ...claim(), key: own.key }, never, HOW);
      expect(again).toMatchObject({ kind: 'existing', row: { key: own.key, state: 'failed' } });
    });

    test('A6 a key that has a row takes no other thing besides', async () => {
      const { store } = harness();
      const own = forOneThing({ waitMs })();
      await store.execute(own, done, HOW);
      for (const way of ['execute', 'begin'] as const) {
        const other = forOneThing({ waitMs });
        const again = { ...other(), key: own.key };
        const told = way === 'begin' ? await begin(again) : await store.execute(again, never, HOW);
        expect(told).toMatchObject({ kind: 'existing', row: { key: own.key } });
        expect(await store.execute(other(), done, HOW)).toMatchObject({ kind: 'committed' });
      }
    });

    test('A6 another tenant and another operation have things of their own', async () => {
      const { store } = harness();
      const claim = forOneThing({ waitMs });
      for (const other of [{}, { tenant: 'other' }, { operation: 'refund' }]) {
        expect(await store.execute(claim(other), done, HOW)).toMatchObject({ kind: 'committed' });
      }
      expect(await store.execute(claim({ thing: `${claim().thing} ` }), done, HOW)).toMatchObject({
        kind: 'committed',
      });
    });

    test('A6 a refusal, a rollback and a deleted row free it', async () => {
      const { store, forget } = harness();
      const claim = forOneThing({ waitMs });
      const refused = claim();
      expect(await store.execute(refused, async () => REFUSED, HOW)).toMatchObject({ kind: 'committed' });
      expect(await store.thingOf(refused)).toBeNull();
      expect(await store.execute(claim(), never, HOW)).toMatchObject({ kind: 'rolled_back' });
      const second = claim();
      expect(await store.execute(second, done, HOW)).toMatchObject({ kind: 'committed' });
      await forget(second);
      expect(await store.execute(claim(), done, HOW)).toMatchObject({ kind: 'committed' });
    });

    test('A6 a tombstone holds nothing', async () => {
      const { store } = harness();
      const claim = forOneThing({ waitMs });
      const given = claim();
      expect(await store.fence(given)).toEqual({ kind: 'fenced' });
      expect(await store.execute(claim(), done, HOW)).toMatchObject({ kind: 'committed' });
    });

    test('A6 its row decides however old the second key is', async () => {
      const { store } = harness();
      const claim = forOneThing({ waitMs });
      await store.execute(claim(), done, HOW);
      const old = claim({ mintedAt: new Date(Date.now() - 48 * 3_600_000) });
      expect(await store.execute(old, never, HOW)).toMatchObject({ kind: 'existing' });
    });

    test('A6 held by phases: in_progress decides, its success holds on, its refusal frees it', async () => {
      const { store } = harness();
      const claim = forOneThing({ waitMs });
      const first = claim();
      expect(await begin(first)).toEqual({ kind: 'committed' });
      const existing = { kind: 'existing', row: { key: first.key, state: 'in_progress' } };
      expect(await begin(claim())).toMatchObject(existing);
      expect(await store.execute(claim(), never, HOW)).toMatchObject(existing);
      const held = { ...claimedOf(first) };
      const settle = (to: Completion) =>
        store.transact(held, 1000, async () => ({ settle: { ...to, ...SETTLE } }), HOW);
      expect(await settle(REFUSED)).toMatchObject({ kind: 'committed', row: { state: 'failed' } });
      expect(await store.thingOf(first)).toBeNull();
      const second = claim();
      expect(await begin(second, { settle: { ...DONE, ...SETTLE } })).toMatchObject({ kind: 'committed' });
      expect(await begin(claim())).toMatchObject({ kind: 'existing', row: { key: second.key, state: 'succeeded' } });
    });
  });

  test.each([
    ['that says that nothing was done frees it', refusedAs(false), true],
    ['that says that something was done holds it', refusedAs(true), false],
    ['of which nobody knows holds it', refusedAs('unknown'), false],
    ['of which nobody knows, on a person’s word, frees it', refusedAs('unknown', 'marked_failed'), true],
    ['on a person’s word, behind something that was done, holds it', refusedAs(true, 'marked_failed'), false],
    [
      'of an older version, which did not say, holds it',
      { ...refusedAs(true), result: '[{"kind":1},"refusal"]' },
      false,
    ],
    ['that cannot be read holds it', { ...refusedAs(true), result: '"sold out"' }, false],
  ] as const)('A6 a refusal in phases %s, and to erase it changes nothing of that', async (_, refused, isFree) => {
    const { store, holderOf } = harness();
    const claim = forOneThing();
    const [first, second] = [claim(), claim()];
    await begin(first);
    const settle = { ...refused, ...SETTLE };
    const settled = await store.transact(claimedOf(first), 1000, async () => ({ settle }), HOW);
    expect(settled).toMatchObject({ kind: 'committed', row: { state: 'failed' } });
    const held = isFree ? undefined : { principal: first.principal, key: first.key };
    for (const erased of [false, true]) {
      if (erased) expect(await store.forget({ ...first, fencingToken: 1 }, 'eve')).toBe('recorded');
      expect([await store.thingOf(first), await holderOf(first)]).toEqual([isFree ? null : first.thing, held]);
    }
    const ended = await store.execute(second, done, HOW);
    expect(ended).toMatchObject(isFree ? { kind: 'committed' } : { kind: 'existing', row: { key: first.key } });
  });

  test('A6 X3 an answer that is erased, alone or with all of its person, still holds its thing', async () => {
    const { store, holderOf } = harness();
    const claim = forOneThing({ principal: 'forgetful' });
    const first = claim();
    await store.execute(first, done, HOW);
    await store.forget({ ...first, fencingToken: 1 }, 'eve');
    const erase = async ({ forgotten, unsettled }: { forgotten: number; unsettled: number }) =>
      ({ forgotten, unsettled, erased: {}, left: [] }) as never;
    await store.erasePrincipal({ tenant: first.tenant, names: ['forgetful'] }, 'eve', erase);
    const row = { key: first.key, result: null };
    expect(await store.execute(claim(), never, HOW)).toMatchObject({ kind: 'existing', row });
    expect(await holderOf(first)).toEqual({ principal: 'forgetful', key: first.key });
  });

  describe.each([
    ['at once', (claim: Claim) => harness().store.execute({ ...claim, waitMs: 0 }, done, HOW)],
    ['with patience', (claim: Claim) => harness().store.execute({ ...claim, waitMs: 10_000 }, done, HOW)],
    ['in phases', (claim: Claim) => begin(claim, { settle: { ...DONE, ...SETTLE } })],
  ])('A6 K5 a thing that is held by a key that is gone, done %s', (_, perform) => {
    const reap = async (claim: Claim) => {
      await harness().age(claim, 26 * 3_600_000);
      await harness().store.reapKeys(1000);
      expect(await harness().store.find(claim)).toBeUndefined();
    };

    test('A6 K5 is free once it has been reaped', async () => {
      const { holderOf } = harness();
      const claim = forOneThing();
      const first = claim();
      expect(await perform(first)).toMatchObject({ kind: 'committed' });
      expect(await holderOf(first)).toEqual({ principal: first.principal, key: first.key });
      await reap(first);
      expect(await holderOf(first)).toBeUndefined();
      expect(await perform(claim())).toMatchObject({ kind: 'committed' });
    });

    test.each(['reaped', 'deleted'] as const)(
      'A6 X3 is done for ever where it says so, and %s says no longer whose it was',
      async (how) => {
        const { store, holderOf, forget } = harness();
        const claim = forOneThing({ holdsForever: true });
        const first = claim();
        expect(await perform(first)).toMatchObject({ kind: 'committed' });
        expect(await begin(claim())).toMatchObject({ kind: 'existing', row: { key: first.key } });
        await (how === 'reaped' ? reap(first) : forget(first));
        expect(await holderOf(first)).toEqual({ principal: null, key: null });
        const told = { kind: 'thing_done' };
        const [second, bobs] = [claim({ holdsForever: false }), claim({ principal: 'bob' })];
        expect([await perform(second), await perform(bobs), await store.findObstacle(bobs)]).toEqual([
          told,
          told,
          told,
        ]);
        expect([await perform(first), await store.find(second), await store.find(first)]).toEqual([
          told,
          undefined,
          undefined,
        ]);
        expect(await perform(claim({ tenant: 'other' }))).toMatchObject({ kind: 'committed' });
      },
    );
  });

  test('A6 a refusal and a rollback free what was to be held for ever', async () => {
    const { store, holderOf } = harness();
    const claim = forOneThing({ holdsForever: true });
    expect(await store.execute(claim(), never, HOW)).toMatchObject({ kind: 'rolled_back' });
    expect(await store.execute(claim(), async () => REFUSED, HOW)).toMatchObject({ kind: 'committed' });
    expect(await begin(claim(), { settle: { ...REFUSED, ...SETTLE } })).toMatchObject({ kind: 'committed' });
    expect(await holderOf(claim())).toBeUndefined();
  });

  /** A rival that has claimed, and ends as it is told. */
  async function holding(claim: Claim) {
    const claimed = gate();
    const end = gate<Completion | 'roll back'>();
    const run = async (): Promise<Completion> => {
      claimed.open();
      const how = await end.opened;
      if (how === 'roll back') throw new Error('rolled back');
      return how;
    };
    const ended = harness().rival.execute(claim, run, HOW);
    await claimed.opened;
    return {
      end: (how: Completion | 'roll back') => {
        end.open(how);
        return ended;
      },
    };
  }

  describe.each([
    ['wrote nothing yet', 0],
    ['has inserted its row', 10_000],
  ])('A6 while another key for the thing runs, which %s', (_, rivalsWaitMs) => {
    test.each(['execute', 'begin'] as const)('A6 %s: a claim that may not wait is locked', async (way) => {
      const claim = forOneThing({ waitMs: 0 });
      const rival = await holding(claim({ waitMs: rivalsWaitMs }));
      const second = claim();
      const told = way === 'begin' ? await begin(second) : await harness().store.execute(second, never, HOW);
      expect(told).toEqual({ kind: 'locked' });
      expect(await rival.end(DONE)).toMatchObject({ kind: 'committed' });
    });

    test('A6 a claim that waits gets the row of the key that commits', async () => {
      const { store, untilWaiting } = harness();
      const claim = forOneThing();
      const rival = await holding(claim({ waitMs: rivalsWaitMs }));
      const waiting = [store.execute(claim(), never, HOW), begin(claim())];
      await untilWaiting(2);
      expect(await rival.end(DONE)).toMatchObject({ kind: 'committed' });
      for (const one of waiting) expect(await one).toMatchObject({ kind: 'existing', row: { state: 'succeeded' } });
    });

    test.each([['is refused', REFUSED] as const, ['rolls back', 'roll back'] as const])(
      'A6 a claim that waits runs where the other key %s',
      async (_, how) => {
        const { store, untilWaiting } = harness();
        const claim = forOneThing();
        const rival = await holding(claim({ waitMs: rivalsWaitMs }));
        const waiting = store.execute(claim(), done, HOW);
        await untilWaiting(1);
        await rival.end(how);
        expect(await waiting).toMatchObject({ kind: 'committed' });
      },
    );

    test('A6 a wait for the thing ends with its time, and the row tells nothing', async () => {
      const claim = forOneThing();
      const rival = await holding(claim({ waitMs: rivalsWaitMs }));
      expect(await harness().store.execute(claim({ waitMs: 50 }), never, HOW)).toEqual({ kind: 'locked' });
      await rival.end('roll back');
    });
  });

  test('A6 C1 of many keys for one thing on many connections one runs, however they claim', async () => {
    const { store, rival } = harness();
    const claim = forOneThing();
    let runs = 0;
    const run = async () => {
      runs++;
      return DONE;
    };
    const settle = async () => {
      runs++;
      return { settle: { ...DONE, ...SETTLE } };
    };
    const ended = await Promise.all(
      Array.from({ length: 12 }, (_, n) => {
        const on = n % 2 ? store : rival;
        const wanted = claim({ waitMs: n % 3 === 0 ? 0 : 10_000, principal: `p${n % 4}` });
        return n % 3 === 2 ? on.begin({ ...wanted, ...LEASE }, settle, HOW) : on.execute(wanted, run, HOW);
      }),
    );
    expect(runs).toBe(1);
    expect(ended.filter(({ kind }) => kind === 'committed')).toHaveLength(1);
    for (const { kind } of ended) expect(['committed', 'existing', 'locked']).toContain(kind);
  });

  test('A6 a lost key is entered with its thing; where another key has it by now, its answer without it', async ({
    skip,
  }) => {
    const { store, lostKeys, forget } = harness();
    if (!lostKeys) return skip('Nothing enters lost keys beside this store.');
    const by = { actor: 'eve', detail: { by: 'hand' } };
    const enter = async ({ tenant, principal, operation, key, ...claim }: Claim, is: object) => {
      const { fingerprint, retentionMs, thing, holdsForever } = claim;
      const lost = {
        tenant,
        principal,
        operation,
        key,
        fingerprint,
        schemaVersion: 3,
        retentionMs,
        thing,
        holdsForever,
        is,
      };
      return await lostKeys.enterLost(lost as LostKey, by);
    };
    const result = { result: '"done"' };
    const open = { input: new Uint8Array([1]), steps: [{ kind: 'capture', name: 'a', position: 1, result: '1' }] };
    for (const is of [result, open]) {
      const claim = forOneThing({ holdsForever: is === result });
      const [lost, second, late] = [claim(), claim(), claim()];
      expect(await enter(lost, is)).toBe('entered');
      expect(await store.thingOf(lost)).toBe(lost.thing);
      expect(await store.execute(second, never, HOW)).toMatchObject({ kind: 'existing', row: { key: lost.key } });
      expect(await enter(lost, is)).toBe('existing');
      // What is to be gone on with would do the thing once more.
      expect(await enter(late, is)).toBe(is === open ? 'held' : 'entered');
      expect(await store.thingOf(late)).toBeNull();
      const own = await store.find(late);
      expect(own?.state).toBe(is === open ? undefined : 'succeeded');
      expect(await enter(late, is)).toBe(is === open ? 'held' : 'existing');
      await forget(lost);
      expect(await store.findObstacle(second)).toEqual(is === result ? { kind: 'thing_done' } : undefined);
    }
    const rival = await holding(forOneThing({ thing: 'held' })({ waitMs: 0 }));
    expect(await enter(forOneThing({ thing: 'held' })(), result)).toBe('locked');
    await rival.end('roll back');
  });

  test('A6 S5 a row that came without a ticket still has its thing: nothing is committed beside it', async () => {
    const { store, write, isWritten, hold } = harness();
    const claim = forOneThing({ waitMs: 0 });
    const [stranger, late] = [claimOf(), claim()];
    await store.execute(stranger, done, HOW);
    const run = async (tx: Tx) => {
      await write(tx, late.key);
      await hold(stranger, late.thing as string);
      return DONE;
    };
    const ended = await store.execute(late, run, { ...HOW, timeoutMs: 5000 });
    // Where the claim has inserted its row, the stranger is the one who is turned away.
    const isWon = ended.kind === 'committed';
    expect(isWon || ended.kind === 'existing').toBe(true);
    expect(await isWritten(late.key)).toBe(isWon);
    expect(await store.thingOf(stranger)).toBe(isWon ? null : late.thing);
  });
}

function claimedOf({ tenant, principal, operation, key }: Claim) {
  const row = { attempts: 1, needsAttention: false, schemaVersion: 3, input: null, traceParent: null, steps: [] };
  return { id: { tenant, principal, operation, key }, state: 'in_progress', fencingToken: 1, ...row } as const;
}
