import type { createClient } from '../../shop/db.ts';
import type { Options } from '../index.ts';
import { anything, effect, kit } from './kit.fixture.ts';

/** A thing that is done once, in one transaction and in phases: the same in the process that dies and in the other one. */
export function crashOperations(client: ReturnType<typeof createClient>, options: Partial<Options> = {}) {
  const idempotency = kit(client, { leaseMs: 300, ...options });
  const oncePer = ({ input }: { input: Record<string, unknown> }) => String(input.thing);
  const handler = idempotency
    .operation({ name: 'once', schema: anything, oncePer })
    .handler(async ({ tx, input, key }) => {
      await effect(tx, String(input.thing));
      return { of: key };
    });
  const phases = idempotency
    .operation({ name: 'once.phases', schema: anything, oncePer })
    .phases(async ({ atomic, foreign, input, key }) => {
      const thing = String(input.thing);
      await atomic('begun', async (tx) => effect(tx, `${thing}:begun`));
      await foreign('sent', {
        arguments: { thing },
        send: async () => ({ id: thing }),
        judge: () => 'indeterminate',
        indeterminate: 'retry',
        providerKeyTtlMs: 86_400_000,
        settleMs: 0,
      });
      await atomic('ended', async (tx) => effect(tx, thing));
      return { of: key };
    });
  return { idempotency, handler, phases };
}
