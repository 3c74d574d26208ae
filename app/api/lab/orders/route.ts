import { routeHandler } from 'oncekit/next';
import { labOrder } from '../../../../shop/lab/order.ts';

/** The lab's order over HTTP, for its proof. */
export const POST = routeHandler(labOrder);
