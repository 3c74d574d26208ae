import { routeHandler } from 'oncekit/next';
import { createOrder, orderCreated } from '../../../lib/demo/api-order-create.ts';

export const POST = routeHandler(createOrder, { respond: orderCreated });
