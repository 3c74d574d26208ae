import type { Principal } from 'oncekit';
import { db } from '../db.ts';
import { namesOf } from '../session/adoption.ts';

/** The mails about a visitor's own orders, newest first. */
export async function listMails(who: Principal | null) {
  if (!who) return [];
  return db().mail.findMany({
    where: { order: { tenant: who.tenant, principal: { in: await namesOf(who) } } },
    orderBy: { id: 'desc' },
    take: 50,
  });
}
