'use server';

import { serverAction } from 'oncekit/next';
import { checkout } from '../../../shop/orders/checkout.ts';
import { showingRefusals } from '../../../shop/session/refused-form.ts';

export const placeOrder = showingRefusals(serverAction(checkout));
