import { routeHandler } from 'oncekit/next';
import { createOrder, orderCreated } from '../../../shop/api/order-create.ts';

export const POST = routeHandler(createOrder, { respond: orderCreated });
