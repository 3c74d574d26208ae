import type { Principal } from 'oncekit';
import { z } from 'zod';
import { type Client, db } from '../db.ts';
import { callOff, findOrder, type LockedOrder, lockOrder } from '../orders/orders.ts';
import { bodyOf } from './body.ts';
import { etagOf, type OrderView, viewOf } from './order-view.ts';
import { isFresh, mayChange } from './preconditions.ts';
import { problem } from './problem.ts';
import { address } from './schemas.ts';

interface Asked {
  request: Request;
  id: string;
  who: Principal;
}

/** `GET /api/orders/{id}`: one's own order; 304 when the client has it as it is. Another's is as absent as none (X1). */
export async function showOrder({ request, id, who }: Asked): Promise<Response> {
  const order = await findOrder(id, who);
  if (!order) return problem(request, 'not_found');
  const view = viewOf(order);
  if (!isFresh(request.headers.get('if-none-match'), etagOf(view))) return shown(view);
  return new Response(null, { status: 304, headers: headersOf(view) });
}

/**
 * `PUT /api/orders/{id}/address`: says where to, if the order is still the one the caller has seen. No change is lost:
 * of two that begin with one ETag, one is made. Sent again it comes to the same state, so it needs no key.
 */
export async function putAddress({ request, id, who }: Asked): Promise<Response> {
  const ifMatch = request.headers.get('if-match');
  if (ifMatch === null) {
    return problem(request, 'precondition_required', {
      message: 'Send the ETag of the order you have seen as If-Match.',
    });
  }
  const read = await bodyOf(request, address);
  if ('refused' in read) return read.refused;
  const { line1, city, postal_code: postalCode, country } = read.body;
  return db().$transaction(async (tx) => {
    const order = await lockOwn(tx, id, who);
    if (!order) return problem(request, 'not_found');
    // Behind the lock, or both of two callers would find the ETag as they know it, and the second lose the first's.
    const { view } = await viewIn(tx, order);
    if (!mayChange(ifMatch, etagOf(view))) {
      // Already as wanted: the answer to the first send was lost (RFC 9110, 13.1.1).
      const { line1: a, city: b, postal_code: c, country: d } = view.address ?? {};
      const isDone = a === line1 && b === city && c === postalCode && d === country;
      return isDone ? shown(view) : problem(request, 'precondition_failed');
    }
    await tx.order.update({ where: { id }, data: { line1, city, postalCode, country } });
    return shown((await viewIn(tx, order)).view);
  });
}

/**
 * `DELETE /api/orders/{id}`: cancels. 204 says: nothing of it will be delivered or charged; also again, and of what was
 * never there or never paid. What is paid, or being paid just now, is refused: money goes back by a refund. If-Match,
 * where one is sent, is asked of what is still there to cancel: a retry of a DELETE that was done is 204 (RFC 9110, 13.1.1).
 */
export async function deleteOrder({ request, id, who }: Asked): Promise<Response> {
  const ifMatch = request.headers.get('if-match');
  return db().$transaction(async (tx) => {
    const order = await lockOwn(tx, id, who);
    if (!order || order.status === 'cancelled' || order.status === 'payment_failed') return done();
    const { view, principal } = await viewIn(tx, order);
    if (ifMatch !== null && !mayChange(ifMatch, etagOf(view))) return problem(request, 'precondition_failed');
    const { status } = order;
    const message = await callOff(tx, order, { tenant: who.tenant, principal });
    if (!message) return done();
    return problem(request, 'failed', { status: 409, message, reason: 'not_cancellable', data: { status } });
  });
}

function shown(view: OrderView): Response {
  return Response.json(view, { headers: headersOf(view) });
}

/** `no-cache`: kept, but asked about each time. `private`: it is about one person. */
function headersOf(view: OrderView): Record<string, string> {
  return { ETag: etagOf(view), 'Cache-Control': 'private, no-cache', Vary: 'Authorization, Cookie' };
}

function done(): Response {
  return new Response(null, { status: 204 });
}

async function lockOwn(tx: Pick<Client, '$queryRaw'>, id: string, who: Principal): Promise<LockedOrder | undefined> {
  return z.uuid().safeParse(id).success ? await lockOrder(tx, id, who) : undefined;
}

async function viewIn(tx: Pick<Client, 'order'>, { id }: LockedOrder) {
  const order = await tx.order.findUniqueOrThrow({ where: { id }, include: { refunds: true } });
  return { view: viewOf(order), principal: order.principal };
}
