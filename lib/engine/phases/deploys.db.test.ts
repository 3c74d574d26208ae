import { expect, test } from 'vitest';
import { expectCounted } from '../../../scripts/testing/expect-counted.ts';
import { anything, freshKey, kit } from '../../integration/kit.fixture.ts';
import { movedTime } from '../../integration/moved-time.fixture.ts';
import { prismaStore } from '../../store/prisma/store.ts';
import { type Call, database, expectOnce, expire, provider, seenCall, shop, usePhases } from './shop.fixture.ts';

usePhases();

const lookup: Call['lookup'] = async ({ order }) => provider.find(order);
const keyed: Partial<Call> = { lookup, maxTries: 1 };
const keyless: Partial<Call> = { ...keyed, indeterminate: 'lookup', providerKeyTtlMs: 0 };

/** Each send without a key of the provider's is an effect of its own. */
async function deploy(how: Partial<Call>, honoursKeys: boolean, key: string): Promise<void> {
  provider.honoursKeys = honoursKeys;
  await expire(key);
  await shop({}, how).idempotency.completeDue({ limit: 100 });
}

test('P2 code that begins to use keys asks about a send that had none', async () => {
  const key = freshKey();
  provider.honoursKeys = false;
  provider.faults = ['after'];
  await shop({}, keyless).checkout.execute({ key, payload: {} });
  await deploy(keyed, true, key);
  expect([provider.sends, provider.lookups]).toEqual([1, 1]);
  await expectOnce(key);
});

test('P2 code that uses keys no more asks about a send that had one', async () => {
  const key = freshKey();
  provider.faults = ['after'];
  await shop({}, keyed).checkout.execute({ key, payload: {} });
  await deploy({ ...keyed, providerKeyTtlMs: 0 }, false, key);
  expect([provider.sends, provider.lookups]).toEqual([1, 1]);
  await expectOnce(key);
});

test('P2 code that knows of a longer memory does not lengthen that of an earlier send', async () => {
  const key = freshKey();
  const time = movedTime(database.client);
  provider.faults = ['after', 'before'];
  await shop({}, { ...keyed, providerKeyTtlMs: 3_600_000 }).checkout.execute({ key, payload: {} });
  const { idempotency } = shop({}, keyed);
  await time.pass(key, 1_800_000);
  await idempotency.completeDue({ limit: 100 });
  expect([provider.sends, provider.lookups]).toEqual([2, 0]);
  await time.pass(key, 3_600_000);
  await idempotency.completeDue({ limit: 100 });
  expect([provider.sends, provider.lookups]).toEqual([2, 1]);
  await expectOnce(key);
});

test('options that have no meaning keep nobody from asking, nor a person from judging', async () => {
  const key = freshKey();
  provider.faults = ['after'];
  await shop({}, { indeterminate: 'unknown', providerKeyTtlMs: 0 }).checkout.execute({ key, payload: {} });
  expect(await prismaStore(database.client).recordVerdict(await seenCall(key), { kind: 'failed' }, 'ann')).toBe(true);
  expect(await shop({}, { maxTries: 0 }).idempotency.completeDue({ limit: 100 })).toMatchObject({ settled: 1 });
});

test('a key that lives longer at the provider than its row lives here is refused before anything is sent', async () => {
  const key = freshKey();
  const errors: unknown[] = [];
  const idempotency = kit(database.client, { phasesRetention: '72h', onError: (error) => void errors.push(error) });
  const pay = idempotency
    .operation({ name: 'pay', schema: anything })
    .phases(async ({ foreign }) => foreign('charge_created', provider.call(key, { providerKeyTtlMs: 73 * 3_600_000 })));
  await pay.execute({ key, payload: {} });
  expect(String(errors.at(-1))).toContain('providerKeyTtlMs');
  expect(provider.sends).toBe(0);
  expectCounted(provider.charges.size).toBe(0);
});
