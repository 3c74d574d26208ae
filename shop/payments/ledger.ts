import type { Client } from '../db.ts';

interface Posting {
  orderId: string;
  /** Of a refund; without it, the posting is the order's charge. */
  refundId?: string;
  amountCents: number;
}

/**
 * Books a payment that nobody expected and its way back at once: the books held nothing of it before, and hold nothing after.
 */
export async function postReturn(
  tx: Pick<Client, 'ledgerEntry'>,
  { refundId, amountCents, orderId }: Required<Posting>,
): Promise<void> {
  const entry = { orderId, refundId, posting: `unexpected:${refundId}` };
  await tx.ledgerEntry.createMany({
    data: [
      { ...entry, account: 'payments', amountCents },
      { ...entry, account: 'sales', amountCents: -amountCents },
    ],
  });
  await post(tx, { orderId, refundId, amountCents });
}

/**
 * Books money that has moved: two entries that add up to zero, in the transaction that says that it has moved. Made
 * twice, it breaks the ledger's unique index and with it the transaction, never the books.
 */
export async function post(tx: Pick<Client, 'ledgerEntry'>, { orderId, refundId, amountCents }: Posting) {
  const posting = refundId ? `refund:${refundId}` : `charge:${orderId}`;
  // A refund is a charge the other way round.
  const received = refundId ? -amountCents : amountCents;
  const about = { posting, orderId, refundId: refundId ?? null };
  await tx.ledgerEntry.createMany({
    data: [
      { ...about, account: 'payments', amountCents: received },
      { ...about, account: 'sales', amountCents: -received },
    ],
  });
}
