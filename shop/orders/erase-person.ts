import type { OnErase } from 'oncekit/admin';
import type { Transaction } from '../db.ts';

/** The shop's own part of erasing a person: their mails go. Orders and refunds stay, for the books. */
export const erasePerson: OnErase<Transaction> = async ({ tenant, names }, tx) => {
  const theirs = { tenant, principal: { in: [...names] } };
  const { count: mails } = await tx.mail.deleteMany({ where: { order: theirs } });
  const orders = await tx.order.count({ where: theirs });
  return {
    erased: { mails },
    left: orders > 0 ? [`orders (${orders}) with their addresses and refunds, which the books need`] : [],
  };
};
