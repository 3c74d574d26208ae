import { afterAll, beforeAll, beforeEach, describe, expect, test, vi } from 'vitest';
import { type TestDatabase, testDatabase } from '../../scripts/testing/test-database.ts';
import { announce, daysPass, deliveries, destination, gate, outboxOn, timePasses } from './messaging.fixture.ts';

let database: TestDatabase;
let client: TestDatabase['client'];
beforeAll(async () => {
  database = await testDatabase();
  client = database.client;
});
afterAll(() => database?.drop());
beforeEach(async () => {
  await client.$executeRaw`DELETE FROM outbox_events`;
  await client.$executeRaw`DELETE FROM outbox_aggregates`;
});

/** A publisher that hears nothing until the relay is told to stop, which may be so much later by the clock. */
function hanging(tookMs: number) {
  const sink = destination('sink', { attempts: 2 });
  const stop = new AbortController();
  sink.behave = async (_, { signal }) => {
    const elapsed = vi.spyOn(performance, 'now').mockReturnValue(performance.now() + tookMs);
    stop.abort();
    await new Promise((_, reject) => signal.addEventListener('abort', () => reject(signal.reason)));
    elapsed.mockRestore();
  };
  return { sink, stop };
}

describe('M2 side by side', () => {
  test('an aggregate has its turn while another, slow one is under way in the same pass', async () => {
    const sink = destination();
    const outbox = outboxOn(client, [sink.route]);
    await announce(client, outbox, 'slow');
    const others = gate();
    sink.behave = async ({ aggregate }) => {
      if (aggregate !== 'slow') return void (sink.order('other').length === 2 && others.open());
      await announce(client, outbox, 'other', 2);
      await announce(client, outbox, 'another');
      await others.opened;
    };
    await announce(client, outbox, 'quick');
    expect(await outbox.relayDue({ limit: 2 })).toEqual({ delivered: 5, failed: 0, dead: 0, unfinished: 0 });
  });

  test('an aggregate whose events take long lets others go after a second', async () => {
    const sink = destination();
    const outbox = outboxOn(client, [sink.route]);
    await announce(client, outbox, 'a', 3);
    await announce(client, outbox, 'b');
    const now = vi.spyOn(performance, 'now');
    let at = 0;
    sink.behave = () => {
      at += 1001;
    };
    now.mockImplementation(() => at);
    await outbox.relayDue({ limit: 1 });
    now.mockRestore();
    expect(sink.sent.map(({ aggregate, sequence }) => `${aggregate}${sequence}`)).toEqual(['a1', 'b1', 'a2', 'a3']);
  });

  test('twenty aggregates on one signal are no leak', async () => {
    const warned: string[] = [];
    const hear = (warning: Error) => warned.push(warning.name);
    process.on('warning', hear);
    const sink = destination();
    const outbox = outboxOn(client, [sink.route]);
    for (let n = 0; n < 20; n++) await announce(client, outbox, `lane ${n}`);
    const all = gate();
    sink.behave = async () => {
      if (sink.sent.length === 20) all.open();
      await all.opened;
    };
    await outbox.relayDue({ limit: 20, signal: new AbortController().signal });
    await new Promise((resolve) => setImmediate(resolve));
    process.off('warning', hear);
    expect(warned).toEqual([]);
  });
});

describe('M2 a relay that is told to stop', () => {
  test.each([
    ['has just begun', 10, { attempts: 0, lastError: null }, { failed: 0, unfinished: 1 }],
    // A cron job ends each of its passes like this. What was never counted would never become a dead letter.
    ['has waited for long', 9000, { attempts: 1, lastError: 'The relay was stopped.' }, { failed: 1, unfinished: 0 }],
  ])('an attempt that %s', async (_, tookMs, row, sum) => {
    const { sink, stop } = hanging(tookMs);
    const outbox = outboxOn(client, [sink.route]);
    await announce(client, outbox, 'a');
    expect(await outbox.relayDue({ signal: stop.signal })).toMatchObject(sum);
    expect(await deliveries(client)).toMatchObject([{ state: 'pending', ...row }]);
  });
});

describe('M2 what a person and an app decide', () => {
  test.each([
    [
      'throws',
      () => {
        throw new Error('no');
      },
    ],
    ['says nothing', () => undefined],
  ])('an onDead that %s blocks, and the event is a dead letter', async (_, onDead) => {
    const sink = destination('sink', { attempts: 1, onDead: onDead as never });
    sink.behave = () => Promise.reject(new Error('down'));
    const outbox = outboxOn(client, [sink.route]);
    await announce(client, outbox, 'a', 2);
    expect(await outbox.relayDue()).toMatchObject({ dead: 1 });
    expect((await deliveries(client)).map(({ state }) => state)).toEqual(['dead', 'pending']);
  });

  test('what is skipped after weeks is still to be seen for its retention', async () => {
    const sink = destination('sink', { attempts: 1 });
    sink.behave = () => Promise.reject(new Error('down'));
    const outbox = outboxOn(client, [sink.route]);
    const [eventId = ''] = await announce(client, outbox, 'a');
    await outbox.relayDue();
    await daysPass(client, 20);
    await outbox.skip({ destination: 'sink', eventId }, 'alice');
    expect(await outbox.reap()).toBe(0);
    expect((await outbox.find(eventId))?.records).toMatchObject([{ type: 'skipped', actor: 'alice' }]);
    await daysPass(client, 8);
    expect(await outbox.reap()).toBe(1);
  });

  test('all that waits for a destination that is gone can be given up, once, and the reaper takes it', async () => {
    const [gone, well] = [destination('gone', { attempts: 1 }), destination('well')];
    gone.behave = () => Promise.reject(new Error('gone'));
    const before = outboxOn(client, [gone.route, well.route]);
    const ids = await announce(client, before, 'a', 3);
    await before.relayDue();
    const outbox = outboxOn(client, [well.route]);
    expect(await outbox.open()).toMatchObject([
      { peer: 'gone', state: 'dead', count: 1 },
      { peer: 'gone', state: 'pending', count: 2 },
    ]);
    const clicks = await Promise.all([1, 2].map(() => outbox.abandon('gone', 'alice')));
    expect(clicks.sort()).toEqual([0, 3]);
    expect(await outbox.open()).toEqual([]);
    const records = await client.messageEvent.findMany({ where: { type: 'abandoned' } });
    expect(new Set(records.map(({ eventId, peer, actor }) => `${eventId} ${peer} ${actor}`))).toEqual(
      new Set(ids.map((id) => `${id} gone alice`)),
    );
    await daysPass(client, 8);
    expect(await outbox.reap()).toBe(3);
  });

  test('a log that fails later is no unhandled rejection', async () => {
    const unhandled = vi.fn();
    process.on('unhandledRejection', unhandled);
    const sink = destination('sink', { attempts: 1 });
    sink.behave = () => Promise.reject(new Error('down'));
    const outbox = outboxOn(client, [sink.route], {
      onReport: (async () => Promise.reject(new Error('no log'))) as never,
    });
    await announce(client, outbox, 'a');
    await outbox.relayDue();
    await timePasses(client);
    await new Promise((resolve) => setImmediate(resolve));
    process.off('unhandledRejection', unhandled);
    expect(unhandled).not.toHaveBeenCalled();
  });
});
