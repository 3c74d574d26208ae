import { enqueueJob } from 'oncekit/worker';
import { z } from 'zod';
import { type Client, db } from '../db.ts';
import { dollars } from './money.ts';
import { isOfOrder } from './orders.ts';

/** Jobs of the worker: names that are stored in its queue, so never rename one while jobs may be waiting. */
type Receipt = 'receipt' | 'refund_receipt';

/**
 * Has a receipt sent once what it says is true: the job is a row of the same transaction (a transactionally staged
 * job, https://brandur.org/job-drain), so it is there exactly if the payment is. The job key keeps it one job.
 */
export async function stageReceipt(tx: Pick<Client, '$queryRawUnsafe'>, kind: Receipt, id: string): Promise<void> {
  await enqueueJob<typeof receiptJobs>(tx, kind, { id }, { jobKey: `${kind}:${id}` });
}

const payload = z.object({ id: z.uuid() });

/** Sends the receipt of an order, once however often the job runs. */
async function sendReceipt(job: unknown): Promise<void> {
  const { id } = payload.parse(job);
  const order = await db().order.findUniqueOrThrow({ where: { id } });
  const { sku, quantity } = order;
  const product = await db().product.findUnique({ where: { sku } });
  await send('receipt', id, order, {
    subject: `Your order for ${dollars(order.amountCents)}`,
    body: [
      `Thank you${order.customerName ? `, ${order.customerName}` : ''}.`,
      `You ordered ${quantity} × ${product?.name ?? sku}, and paid ${dollars(order.amountCents)}, once.`,
      `Order ${id}`,
    ],
  });
}

/** Sends the receipt of a refund, once however often the job runs. */
async function sendRefundReceipt(job: unknown): Promise<void> {
  const { id } = payload.parse(job);
  const refund = await db().refund.findUniqueOrThrow({ where: { id }, include: { order: true } });
  const { order, amountCents } = refund;
  const which = isOfOrder(refund)
    ? ` of the ${dollars(order.amountCents)} that you paid`
    : ', a payment that we did not expect';
  await send('refund_receipt', id, order, {
    subject: `Your refund of ${dollars(amountCents)}`,
    body: [`We have given back ${dollars(amountCents)}${which}.`, `Order ${order.id}`],
  });
}

/** By the names under which they are staged. */
export const receiptJobs: Record<Receipt, (job: unknown) => Promise<void>> = {
  receipt: sendReceipt,
  refund_receipt: sendRefundReceipt,
};

interface Letter {
  subject: string;
  body: string[];
}

/**
 * Into the dev mailbox. A job runs at least once: ON CONFLICT DO NOTHING makes the second run nothing. A real mail
 * service would be handed `kind:subjectId` as its idempotency key.
 */
async function send(
  kind: Receipt,
  subjectId: string,
  order: { id: string; email: string | null; principal: string },
  { subject, body }: Letter,
): Promise<void> {
  const recipient = order.email ?? order.principal;
  const mail = { kind, subjectId, orderId: order.id, recipient, subject, body: body.join('\n') };
  await db().mail.createMany({ data: [mail], skipDuplicates: true });
}
