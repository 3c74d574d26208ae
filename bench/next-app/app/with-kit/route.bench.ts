import { routeHandler } from 'oncekit/next';
import { orderOperation } from '../../../../bench/order.ts';
import { clientOrNone } from '../../../../shop/db.ts';

export const POST = routeHandler(orderOperation(clientOrNone()), {
  respond: (order) => Response.json(order, { status: 201 }),
});
