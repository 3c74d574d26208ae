'use server';

import { serverAction } from 'oncekit/next';
import { checkout } from '../../../shop/orders/checkout.ts';

export const placeOrder = serverAction(checkout);
