'use server';

import { serverAction } from 'oncekit/next';
import { queryOrder } from '../../../shop/lab/examples.ts';

export const placeOrder = serverAction(queryOrder);
