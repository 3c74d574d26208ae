/** Shared by `soak.db.test.ts` and the workers that it kills: who receives, and what the effects are. */

import { random } from '../../e2e/fixtures/random.ts';
import { SEED } from '../../scripts/testing/tier.ts';
import type { Client } from '../../shop/db.ts';
import { createInbox, createOutbox, type Outbox } from '../messaging/prisma.ts';
import { webhook } from '../messaging/webhook.ts';

export const SECRETS = [`whsec_${Buffer.alloc(32, 7).toString('base64')}`];
export const AMOUNT = 5000;
/** Fast enough for a test, and never so often that something is given up. */
const HOW_OFTEN = { attempts: 1000, backoff: { baseMs: 5, capMs: 50 } };

/** Books a hundredth of the amount, as a bank that counts in whole dollars does, and changes what it was handed for it. */
async function book(tx: Pick<Client, 'auditRecord'>, action: string, payload: unknown): Promise<void> {
  const changed = payload as { amount: number };
  changed.amount /= 100;
  await tx.auditRecord.create({
    data: { action, tenant: 'soak', principal: 'soak', data: { amount: changed.amount } },
  });
}

/** An inbox whose bank fails now and then, behind its change; whose slow source takes as long as `address` does to answer. */
export function soakedInbox(client: Client, process: number, address?: string) {
  const next = random(SEED * 1009 + process);
  return createInbox({
    prisma: client,
    ...HOW_OFTEN,
    timeoutMs: 600_000,
    onReport: () => {},
    sources: {
      bank: {
        handle: async (tx, { eventId, payload }) => {
          await book(tx, eventId, payload);
          if (next() < 0.2) throw new Error('not now');
        },
      },
      slow: {
        handle: async (tx, { eventId, payload }) => {
          if (!address) throw new Error('not here');
          await (await fetch(`${address}slow`)).arrayBuffer();
          await book(tx, eventId, payload);
        },
      },
    },
  });
}

/** An outbox that sends to that address. */
export function soakedOutbox(client: Client, address: string): Outbox {
  const publisher = webhook({ url: address, secrets: SECRETS });
  return createOutbox({
    prisma: client,
    destinations: [{ name: 'bank', publisher, ...HOW_OFTEN }],
    onReport: () => {},
  });
}
