import { describe, expect, test } from 'vitest';
import type { FlightResult } from './call-result.ts';
import { SingleFlight } from './waiting.ts';

const id = { tenant: 'acme', principal: 'ann', operation: 'checkout', key: 'k1' };
const fingerprint = { hash: new Uint8Array([1]), version: 2, secretId: 'none' };
const startedBy = { fingerprint, waitMs: 1000, deadline: Infinity, request: {} };
const ENDED: FlightResult = { kind: 'locked' };

function begun() {
  const flights = new SingleFlight();
  return { flights, flight: flights.start(id, startedBy) };
}

describe('C2 starters', () => {
  test('C2 a starter is found in the same tick, with its fingerprint and wait', () => {
    const { flights, flight } = begun();
    expect(flights.find(id)).toBe(flight);
    expect(flight).toMatchObject({ startedBy: startedBy, hasRow: false });
  });

  test.each([
    ['tenant', { ...id, tenant: 'other' }],
    ['principal', { ...id, principal: 'bob' }],
    ['operation', { ...id, operation: 'refund' }],
    ['key', { ...id, key: 'k2' }],
    ['cut', { ...id, tenant: 'ac', principal: 'mean' }],
    ['crafted part', { ...id, tenant: 'acme","ann', principal: '' }],
  ])('K4 a starter is not found under another %s', (_, other) => {
    expect(begun().flights.find(other)).toBeUndefined();
  });

  test.each(['ends', 'fails'])('C2 a starter is gone before anybody hears that it %s', async (how) => {
    const { flights, flight } = begun();
    const found = flight.join(1000).then(
      () => flights.find(id),
      () => flights.find(id),
    );
    if (how === 'ends') flight.end(ENDED);
    else flight.fail(new Error('gone'));
    expect(await found).toBeUndefined();
  });

  test('C2 each joiner hears how the starter ended', async () => {
    const { flight } = begun();
    const followed = [flight.join(1000), flight.join(1000)];
    flight.end(ENDED);
    expect(await Promise.all(followed)).toEqual([ENDED, ENDED]);
  });

  test('C2 a joiner hears that the starter failed', async () => {
    const { flight } = begun();
    const followed = flight.join(1000);
    flight.fail(new Error('gone'));
    await expect(followed).rejects.toThrow('gone');
  });

  test('C2 the failure of a starter without joiners is its own caller’s, and nobody else’s', async () => {
    const { flights, flight } = begun();
    flight.fail(new Error('gone')); // a promise that nobody handles would end the process
    await new Promise((resolve) => setImmediate(resolve));
    expect(flights.find(id)).toBeUndefined();
  });

  test.each([0, -1])('C3 waitMs %d does not wait, even for a starter that has ended', async (waitMs) => {
    const { flight } = begun();
    const patient = flight.join(1000);
    flight.end(ENDED);
    expect(await patient).toBe(ENDED);
    expect(await flight.join(waitMs)).toBeUndefined();
  });

  test('C2 each joiner keeps its own wait, and leaves no timer behind', async () => {
    const { flight } = begun();
    const started = performance.now();
    expect(await flight.join(30)).toBeUndefined();
    expect(performance.now() - started).toBeGreaterThanOrEqual(29);
    const patient = flight.join(60_000);
    const during = timers(); // nothing but microtasks run until the next look
    flight.end(ENDED);
    expect(await patient).toBe(ENDED);
    expect(timers()).toBe(during - 1);
  });
});

function timers(): number {
  return process.getActiveResourcesInfo().filter((name) => name === 'Timeout').length;
}
