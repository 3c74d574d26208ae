import { expect, test } from 'vitest';
import { expectCounted } from '../../../scripts/testing/expect-counted.ts';
import { anything, effect, effects, freshKey, gate, kit } from '../../integration/kit.fixture.ts';
import { database, usePhases } from './shop.fixture.ts';

usePhases();

/** An operation in phases whose first run stops between its steps, for ever or until it is told to go on. */
function stopping() {
  const [started, go] = [gate(), gate()];
  const state = { runs: 0 };
  const pay = kit(database.client)
    .operation({ name: 'pay', schema: anything })
    .phases(async ({ atomic, key }) => {
      await atomic('order', (tx) => effect(tx, `${key}:order`));
      if (++state.runs === 1) {
        started.open();
        await go.opened;
      }
      await atomic('finished', (tx) => effect(tx, `${key}:finished`));
      return state.runs;
    });
  return { pay, state, started: started.opened, go: go.open };
}

async function expectOnce(key: string): Promise<void> {
  for (const what of ['order', 'finished']) expectCounted(await effects(database.client, `${key}:${what}`)).toBe(1);
}

test('C2 a patient joiner goes on by itself where its starter had no more time', async () => {
  const { pay, started } = stopping();
  const key = freshKey();
  const impatient = pay.execute({ key, payload: {}, deadlineMs: 6000 });
  await started;
  const patient = pay.execute({ key, payload: {}, deadlineMs: 60_000, waitMs: 60_000 });
  expect(await impatient).toMatchObject({ code: 'unavailable', executed: 'unknown' });
  expect(await patient).toMatchObject({ ok: true, data: 2, replayed: false });
  await expectOnce(key);
});

test('C2 and where its starter’s caller has gone away', async () => {
  const { pay, started, go } = stopping();
  const key = freshKey();
  const gone = new AbortController();
  const starter = pay.execute({ key, payload: {}, signal: gone.signal });
  await started;
  const joiner = pay.execute({ key, payload: {}, waitMs: 60_000 });
  gone.abort();
  go();
  expect(await starter).toMatchObject({ code: 'unavailable', executed: 'unknown' });
  expect(await joiner).toMatchObject({ ok: true, data: 2, replayed: false });
  await expectOnce(key);
});

test('C2 of two with the same patience the joiner does not begin where its starter has failed', async () => {
  let runs = 0;
  const broken = kit(database.client)
    .operation({ name: 'broken', schema: anything })
    .phases(async ({ atomic }) => {
      runs++;
      await atomic('a', () => Promise.reject(new Error('no luck')));
    });
  const key = freshKey();
  const both = await Promise.all([1, 2].map(() => broken.execute({ key, payload: {} })));
  expect(both).toMatchObject([{ code: 'internal' }, { code: 'internal' }]);
  expect(runs).toBe(1);
});
