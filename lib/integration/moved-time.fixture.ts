import type { Client } from '../../shop/db.ts';

interface Completer {
  completeDue(how: { limit: number }): Promise<{ taken: number }>;
}

/** Time that passes for a key by its rows: whatever was to come is nearer, whatever was is longer ago. */
export function movedTime(client: Client, alsoMove: (ms: number) => void = () => {}) {
  async function pass(key: string, ms: number): Promise<void> {
    alsoMove(ms);
    await client.$executeRaw`
      UPDATE idempotency_keys
         SET claimed_at = claimed_at - ${ms} * interval '1 ms', expires_at = expires_at - ${ms} * interval '1 ms',
             lease_until = lease_until - ${ms} * interval '1 ms',
             next_attempt_at = next_attempt_at - ${ms} * interval '1 ms'
       WHERE key = ${key}`;
    await client.$executeRaw`
      UPDATE idempotency_phases
         SET first_sent_at = first_sent_at - ${ms} * interval '1 ms',
             last_sent_at = last_sent_at - ${ms} * interval '1 ms', keys_until = keys_until - ${ms} * interval '1 ms'
       WHERE key = ${key}`;
  }

  /** How long the completer still leaves a key alone, in milliseconds; null: for ever. */
  async function pauseOf(key: string): Promise<number | null> {
    const [row] = await client.$queryRaw<{ ms: number | null }[]>`
      SELECT extract(epoch FROM next_attempt_at - clock_timestamp())::float8 * 1000 AS ms
        FROM idempotency_keys WHERE key = ${key}`;
    return row?.ms ?? null;
  }

  /** A worker at work for so long, from one look at the key to the next. Returns how often it looked. */
  async function work(completer: Completer, key: string, forMs: number): Promise<number> {
    let looks = 0;
    for (let left = forMs; left > 0; ) {
      const step = Math.max(0, Math.min(left, (await pauseOf(key)) ?? left)) + 1;
      await pass(key, step);
      left -= step;
      if (left > 0) looks += (await completer.completeDue({ limit: 100 })).taken;
    }
    return looks;
  }

  return { pass, pauseOf, work };
}
