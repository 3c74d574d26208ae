'use server';

import { serverAction } from 'oncekit/next';
import { queryOrder } from '../../../lib/demo/examples.ts';

export const placeOrder = serverAction(queryOrder);
