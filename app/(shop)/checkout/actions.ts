'use server';

import { serverAction } from 'oncekit/next';
import { checkout } from '../../../lib/demo/checkout.ts';

export const placeOrder = serverAction(checkout, { redirectTo: (order) => `/orders/${order.id}` });
