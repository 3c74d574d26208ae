import { afterAll, beforeAll, beforeEach, describe, expect, test } from 'vitest';
import { type TestDatabase, testDatabase } from '../../scripts/testing/test-database.ts';
import { createClient } from '../../shop/db.ts';
import { PublishError } from './destination.ts';
import { announce, daysPass, deliveries, destination, gate, outboxOn, timePasses } from './messaging.fixture.ts';

let database: TestDatabase;
let client: TestDatabase['client'];
let second: TestDatabase['client'];
beforeAll(async () => {
  database = await testDatabase();
  client = database.client;
  second = createClient(database.url);
});
afterAll(async () => {
  await second?.$disconnect();
  await database?.drop();
});
beforeEach(async () => {
  await client.$executeRaw`DELETE FROM outbox_events`;
  await client.$executeRaw`DELETE FROM outbox_stops`;
  await client.$executeRaw`DELETE FROM outbox_aggregates`;
});

const upTo = (count: number) => Array.from({ length: count }, (_, n) => n + 1);

describe('M2 the relay', () => {
  test('sends each event of each aggregate in order, and marks it', async () => {
    const sink = destination();
    const outbox = outboxOn(client, [sink.route]);
    for (const aggregate of ['a', 'b', 'c']) await announce(client, outbox, aggregate, 5);
    expect(await outbox.relayDue({ limit: 2 })).toEqual({ delivered: 15, failed: 0, dead: 0, unfinished: 0 });
    for (const aggregate of ['a', 'b', 'c']) expect(sink.order(aggregate)).toEqual(upTo(5));
    expect((await deliveries(client)).map(({ state }) => state)).toEqual(Array(15).fill('delivered'));
    expect(await outbox.relayDue()).toMatchObject({ delivered: 0 });
  });

  test('aggregates go side by side: one that hangs holds up its own events alone', async () => {
    const sink = destination();
    const [hanging, end] = [gate(), gate()];
    sink.behave = async ({ aggregate }) => {
      if (aggregate !== 'a') return;
      hanging.open();
      await end.opened;
    };
    const outbox = outboxOn(client, [sink.route]);
    await announce(client, outbox, 'a', 2);
    const slow = outbox.relayDue();
    await hanging.opened;
    await announce(client, outbox, 'b', 2);
    expect(await outboxOn(second, [sink.route]).relayDue()).toMatchObject({ delivered: 2 });
    expect([sink.order('a'), sink.order('b')]).toEqual([[1], [1, 2]]);
    end.open();
    expect(await slow).toMatchObject({ delivered: 2 });
  });

  test('two destinations get everything, and neither waits for the other', async () => {
    const [up, down] = [destination('up'), destination('down')];
    down.behave = () => {
      throw new Error('down');
    };
    const outbox = outboxOn(client, [up.route, down.route]);
    await announce(client, outbox, 'a', 3);
    expect(await outbox.relayDue()).toMatchObject({ delivered: 3, failed: 1 });
    expect([up.order('a'), down.order('a')]).toEqual([upTo(3), [1]]);
    down.behave = () => {};
    await timePasses(client);
    await outbox.relayDue();
    expect([up.order('a'), down.order('a')]).toEqual([upTo(3), [1, ...upTo(3)]]);
  });

  test('order is that of the numbers, whatever the ids, also where a person reads', async () => {
    const sink = destination();
    const outbox = outboxOn(client, [sink.route]);
    const from = { scope: { tenant: 'acme', principal: 'ann', operation: 'checkout' }, key: 'ids' };
    const ids: string[] = [];
    for (const n of upTo(8)) {
      const event = { type: 'order.paid', aggregate: 'ids', payload: n };
      const one = await client.$transaction((tx) => outbox.enqueue(tx, event, { ...from, step: `${n}` }));
      ids.push(one.eventId);
    }
    expect([...ids].sort(), 'these ids say nothing about the time').not.toEqual(ids);
    await outbox.relayDue();
    expect(sink.order('ids')).toEqual(upTo(8));
    const listed = await outbox.list({ limit: 8, offset: 0 });
    expect(listed.map(({ eventId }) => eventId)).toEqual(ids.toReversed());
  });

  test('six relays at once send each event once, in order', async () => {
    const sink = destination();
    const outboxes = upTo(6).map((n) => outboxOn(n % 2 ? client : second, [sink.route]));
    const [outbox] = outboxes;
    if (!outbox) return;
    for (const n of upTo(12)) await announce(client, outbox, `order:${n}`, 6);
    // Four at once are more than one relay has under way, so several are at it.
    const several = gate();
    let sent = 0;
    sink.behave = async () => {
      sent++;
      if (sent === 4) several.open();
      await several.opened;
    };
    const sums = await Promise.all(outboxes.map((one) => one.relayDue({ limit: 3 })));
    expect(sums.reduce((sum, { delivered }) => sum + delivered, 0)).toBe(72);
    for (const n of upTo(12)) expect(sink.order(`order:${n}`)).toEqual(upTo(6));
    expect(sums.filter(({ delivered }) => delivered > 0).length, 'several have a share').toBeGreaterThan(1);
  });

  test('an event that is announced while its aggregate is being sent goes out behind it', async () => {
    const sink = destination();
    const outbox = outboxOn(client, [sink.route]);
    sink.behave = async ({ sequence }) => {
      if (sequence === 1) await announce(client, outbox, 'a');
    };
    await announce(client, outbox, 'a');
    expect(await outbox.relayDue()).toMatchObject({ delivered: 2 });
    expect(sink.order('a')).toEqual([1, 2]);
  });

  test('what nobody has committed is not sent, and does not hold up others', async () => {
    const sink = destination();
    const outbox = outboxOn(client, [sink.route]);
    await announce(client, outbox, 'a');
    await client.$transaction(async (tx) => {
      await outbox.enqueue(tx, { type: 'order.paid', aggregate: 'a', payload: 2 });
      expect(await outboxOn(second, [sink.route]).relayDue()).toMatchObject({ delivered: 1 });
    });
    expect(await outbox.relayDue()).toMatchObject({ delivered: 1 });
    expect(sink.order('a')).toEqual([1, 2]);
  });
});

describe('M2 leases', () => {
  test('a relay that is slower than its lease changes nothing when it comes back', async () => {
    const sink = destination();
    const [sending, back] = [gate(), gate()];
    const fast = destination();
    sink.behave = async () => {
      sending.open();
      await back.opened;
    };
    const slow = outboxOn(client, [sink.route]);
    const other = outboxOn(second, [fast.route]);
    await announce(client, slow, 'a', 2);
    const late = slow.relayDue();
    await sending.opened;
    expect(await other.relayDue(), 'the lease keeps others away').toMatchObject({ delivered: 0 });
    await timePasses(client);
    fast.behave = () => {
      throw new Error('down');
    };
    expect(await other.relayDue()).toMatchObject({ failed: 1 });
    const before = await deliveries(client);
    back.open();
    expect(await late).toEqual({ delivered: 0, failed: 0, dead: 0, unfinished: 1 });
    expect(slow.reports).toMatchObject([{ kind: 'lost' }]);
    expect(await deliveries(client)).toEqual(before);
    expect(sink.order('a'), 'nor does it go on with what comes next').toEqual([1]);
  });

  test.each(['claimed', 'sent', 'acknowledged', 'marked'] as const)(
    'a relay that is gone at "%s" leaves an event that another one sends',
    async (point) => {
      const sink = destination();
      const dying = outboxOn(client, [sink.route], {
        onPoint: (at) => {
          if (at === point) throw new Error('gone');
        },
      });
      await announce(client, dying, 'a', 2);
      if (point === 'sent') await dying.relayDue();
      else await expect(dying.relayDue()).rejects.toThrow('gone');
      const outbox = outboxOn(second, [sink.route]);
      if (point !== 'sent') expect(await outbox.relayDue(), 'before its lease is over').toMatchObject({ delivered: 0 });
      await timePasses(client);
      await outbox.relayDue();
      expect([...new Set(sink.order('a'))]).toEqual([1, 2]);
      expect((await deliveries(client)).map(({ state }) => state)).toEqual(['delivered', 'delivered']);
    },
  );

  test('an event whose relays never come back becomes a dead letter', async () => {
    const sink = destination('sink', { attempts: 2 });
    const dying = outboxOn(client, [sink.route], {
      onPoint: () => {
        throw new Error('gone');
      },
    });
    await announce(client, dying, 'a');
    for (let times = 0; times < 2; times++) {
      await dying.relayDue().catch(() => {});
      await timePasses(client);
    }
    const outbox = outboxOn(client, [sink.route]);
    expect(await outbox.relayDue()).toMatchObject({ dead: 1 });
    expect([sink.sent.length, (await deliveries(client))[0]?.lastError]).toEqual([
      0,
      'Taken 2 times, and no relay came back.',
    ]);
  });

  test('a relay that is told to stop gives back what is under way, and it costs no attempt', async () => {
    const sink = destination();
    const stop = new AbortController();
    sink.behave = async () => {
      stop.abort();
      await new Promise(() => {});
    };
    const outbox = outboxOn(client, [sink.route]);
    await announce(client, outbox, 'a');
    expect(await outbox.relayDue({ signal: stop.signal })).toMatchObject({ unfinished: 1 });
    expect(await deliveries(client)).toMatchObject([{ state: 'pending', attempts: 0, lastError: null }]);
    sink.behave = () => {};
    expect(await outbox.relayDue()).toMatchObject({ delivered: 1 });
  });
});

describe('M2 failures', () => {
  test('pauses grow, and the order is kept through them', async () => {
    const sink = destination('sink', { backoff: { baseMs: 1000, capMs: 4000 } });
    const outbox = outboxOn(client, [sink.route], { random: () => 1 });
    await announce(client, outbox, 'a', 2);
    sink.behave = () => {
      throw Object.assign(new Error('the body of an answer'), { code: 'ECONNREFUSED' });
    };
    const pauses: number[] = [];
    for (let attempt = 1; attempt <= 4; attempt++) {
      expect(await outbox.relayDue()).toMatchObject({ failed: 1 });
      const [row] = await client.$queryRaw<{ ms: number }[]>`
        SELECT extract(epoch FROM next_attempt_at - clock_timestamp())::float8 * 1000 AS ms
          FROM outbox_deliveries WHERE sequence = 1`;
      pauses.push(Math.round((row?.ms ?? 0) / 1000));
      expect(await outbox.relayDue(), 'not before its time').toMatchObject({ failed: 0 });
      await timePasses(client);
    }
    expect(pauses).toEqual([1, 2, 4, 4]);
    expect(await deliveries(client)).toMatchObject([{ attempts: 4, lastError: 'Error ECONNREFUSED' }, { attempts: 0 }]);
    sink.behave = () => {};
    await outbox.relayDue();
    expect(sink.order('a')).toEqual([1, 1, 1, 1, 1, 2]);
  });

  test('Retry-After puts it off for longer than the backoff would', async () => {
    const sink = destination('sink', { backoff: { baseMs: 1, capMs: 1 } });
    sink.behave = () => {
      throw new PublishError('HTTP 429', { retryAfterMs: 120_000 });
    };
    const outbox = outboxOn(client, [sink.route]);
    await announce(client, outbox, 'a');
    await outbox.relayDue();
    const [row] = await client.$queryRaw<{ later: boolean }[]>`
      SELECT next_attempt_at > clock_timestamp() + interval '100 s' AS later FROM outbox_deliveries`;
    expect(row?.later).toBe(true);
  });

  test('after N attempts it is a dead letter that blocks its aggregate; a requeue sends all of it, in order', async () => {
    const sink = destination('sink', { attempts: 3 });
    const outbox = outboxOn(client, [sink.route]);
    const [eventId = ''] = await announce(client, outbox, 'a', 3);
    await announce(client, outbox, 'b');
    sink.behave = ({ aggregate }) => {
      if (aggregate === 'a') throw new PublishError('HTTP 500');
    };
    for (let attempt = 1; attempt <= 5; attempt++) {
      await outbox.relayDue();
      await timePasses(client);
    }
    expect([sink.order('a'), sink.order('b')]).toEqual([[1, 1, 1], [1]]);
    expect(await outbox.list({ state: 'dead', limit: 9, offset: 0 })).toMatchObject([
      { eventId, destination: 'sink', attempts: 3, lastError: 'HTTP 500', nextAttemptAt: null },
    ]);
    expect(outbox.reports.map(({ kind }) => kind)).toEqual(['failed', 'failed', 'dead']);
    expect(await outbox.open()).toMatchObject([
      { peer: 'sink', state: 'dead', count: 1 },
      { peer: 'sink', state: 'pending', count: 2 },
    ]);
    sink.behave = () => {};
    const clicks = [1, 2].map(() => outbox.requeue({ destination: 'sink', eventId }, 'alice'));
    expect((await Promise.all(clicks)).sort(), 'a second click does nothing').toEqual([false, true]);
    expect(await outbox.relayDue()).toMatchObject({ delivered: 3 });
    expect(sink.order('a')).toEqual([1, 1, 1, 1, 2, 3]);
    expect(await outbox.find(eventId)).toMatchObject({
      eventId,
      aggregate: 'a',
      payload: '{"n":1}',
      deliveries: [{ destination: 'sink', state: 'delivered' }],
      records: [{ peer: 'sink', type: 'requeued', actor: 'alice' }],
    });
    expect([await outbox.open(), await outbox.find(crypto.randomUUID())]).toEqual([[], undefined]);
    const crafted = { destination: 'sink', eventId: "'; --" };
    expect(await Promise.all([outbox.requeue(crafted, 'eve'), outbox.skip(crafted, 'eve')])).toEqual([false, false]);
    expect(await outbox.find(crafted.eventId)).toBeUndefined();
  });

  test('a dead letter that is skipped lets the next ones go: by choice of the destination, or of a person', async () => {
    const type = (event: { payload: string }) => (event.payload.includes('1') ? 'skip' : 'block');
    const sink = destination('sink', { attempts: 1, onDead: type });
    const outbox = outboxOn(client, [sink.route]);
    const ids = await announce(client, outbox, 'a', 3);
    sink.behave = ({ sequence }) => {
      if (sequence < 3) throw new Error('no');
    };
    expect(await outbox.relayDue()).toMatchObject({ dead: 2, delivered: 0 });
    expect((await deliveries(client)).map(({ state }) => state)).toEqual(['skipped', 'dead', 'pending']);
    expect(await outbox.skip({ destination: 'sink', eventId: ids[1] ?? '' }, 'alice')).toBe(true);
    expect(await outbox.skip({ destination: 'sink', eventId: ids[1] ?? '' }, 'alice')).toBe(false);
    expect(await outbox.relayDue()).toMatchObject({ delivered: 1 });
    expect((await deliveries(client)).map(({ state }) => state)).toEqual(['skipped', 'skipped', 'delivered']);
  });

  test('all dead letters of a destination go out with one word', async () => {
    const sink = destination('sink', { attempts: 1 });
    const outbox = outboxOn(client, [sink.route]);
    for (const aggregate of ['a', 'b', 'c']) await announce(client, outbox, aggregate, 2);
    sink.behave = () => {
      throw new Error('down');
    };
    expect(await outbox.relayDue()).toMatchObject({ dead: 3 });
    sink.behave = () => {};
    expect(await outbox.requeueAll('sink', 'alice')).toBe(3);
    expect(await outbox.requeueAll('sink', 'alice')).toBe(0);
    expect(await outbox.relayDue()).toMatchObject({ delivered: 6 });
  });

  test('a destination that wants nothing more is left alone until a person resumes it; nothing is lost', async () => {
    const [gone, well] = [destination('gone'), destination('well')];
    gone.behave = () => {
      throw new PublishError('HTTP 410', { next: 'stop' });
    };
    const outbox = outboxOn(client, [gone.route, well.route]);
    for (const aggregate of ['a', 'b']) await announce(client, outbox, aggregate, 2);
    await outbox.relayDue({ limit: 1 });
    await announce(client, outbox, 'c');
    await outbox.relayDue();
    expect([gone.sent.length, well.sent.length]).toEqual([1, 5]);
    expect(await outbox.stops()).toMatchObject([{ destination: 'gone', reason: 'HTTP 410' }]);
    gone.behave = () => {};
    expect(await outbox.resume('gone', 'alice')).toBe(true);
    expect(await outbox.resume('gone', 'alice')).toBe(false);
    await outbox.relayDue();
    expect([gone.order('a'), gone.order('b'), gone.order('c')]).toEqual([[1, 1, 2], [1, 2], [1]]);
  });

  test('a publisher that does not look at its signal is given up in time', async () => {
    const sink = destination('sink', { timeoutMs: 30 });
    sink.behave = () => new Promise(() => {});
    const outbox = outboxOn(client, [sink.route]);
    await announce(client, outbox, 'a');
    expect(await outbox.relayDue()).toMatchObject({ failed: 1 });
    expect(await deliveries(client)).toMatchObject([{ lastError: 'No answer within 30 ms.' }]);
  });
});

describe('the reaper', () => {
  test('takes what is settled everywhere and past its retention, and keeps the numbering', async () => {
    const [one, two] = [destination('one'), destination('two', { attempts: 1 })];
    two.behave = ({ aggregate }) => {
      if (aggregate === 'dead') throw new Error('no');
    };
    const outbox = outboxOn(client, [one.route, two.route]);
    await announce(client, outbox, 'done', 3);
    await announce(client, outbox, 'dead');
    await outbox.relayDue();
    await announce(client, outbox, 'waiting');
    await announce(client, outboxOn(client, []), 'nowhere');
    expect(await outbox.reap()).toBe(0);
    await daysPass(client, 8);
    await announce(client, outbox, 'done');
    expect(await outbox.reap({ batch: 2 })).toBe(4);
    const left = await client.outboxEvent.findMany({ orderBy: { aggregate: 'asc' } });
    expect(left.map(({ aggregate, sequence }) => [aggregate, sequence])).toEqual([
      ['dead', 1n],
      ['done', 4n],
      ['waiting', 1n],
    ]);
    expect(await client.outboxDelivery.count()).toBe(6);
  });
});
