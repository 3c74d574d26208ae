import type { Principal } from 'oncekit';
import { z } from 'zod';
import { db } from '../db.ts';
import { idempotency } from '../idempotency.ts';
import { namesOf } from '../session/adoption.ts';
import { quantity, sellMugs } from './example-forms.ts';

/** Each of them is edited on a page of its own. */
export const SHELVES = ['kitchen', 'office', 'hall'] as const;

/** The pages that the forms lead to. */
export const SHELVES_PAGE = '/examples/wild/shelves';
export const MODAL_PAGE = '/examples/wild/modal';

const schema = z.object({ quantity, shelf: z.enum(SHELVES) });

/** A page that is opened again and again, with the same intent each time. A save is an order, so that each one can be counted. */
export const shelfOrder = idempotency
  .operation({ name: 'example.shelf', schema })
  .handler(
    ({ input, ...call }) =>
      sellMugs(call, { quantity: input.quantity, remark: `for the ${input.shelf}`, city: input.shelf }),
    { redirectTo: () => SHELVES_PAGE },
  );

/** A form that is still there behind the redirect: it stands in a layout. */
export const passingOrder = idempotency
  .operation({ name: 'example.passing', schema: z.object({ quantity }) })
  .handler(({ input, ...call }) => sellMugs(call, { quantity: input.quantity, remark: 'ordered in passing' }), {
    redirectTo: () => SHELVES_PAGE,
  });

/** A form in a modal, which is a page of its own where it is loaded by its address. It is closed by the redirect, or is still there. */
export const modalOrder = idempotency
  .operation({ name: 'example.modal', schema: schema.extend({ stay: z.boolean().default(false) }) })
  .handler(
    async ({ input: { quantity, shelf, stay }, ...call }) => ({
      ...(await sellMugs(call, { quantity, remark: `for the ${shelf}` })),
      next: stay ? `${MODAL_PAGE}/${shelf}` : MODAL_PAGE,
    }),
    { redirectTo: ({ next }) => next },
  );

/** How many mugs this principal has ordered last for each shelf. */
export async function latestOfShelves(who: Principal | null): Promise<Partial<Record<string, number>>> {
  if (!who) return {};
  const orders = await db().order.findMany({
    where: { tenant: who.tenant, principal: { in: await namesOf(who) }, source: 'lab', city: { in: [...SHELVES] } },
    orderBy: { createdAt: 'asc' },
    select: { city: true, quantity: true },
  });
  return Object.fromEntries(orders.map((order) => [order.city, order.quantity]));
}
