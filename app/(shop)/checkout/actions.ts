'use server';

import { serverAction } from 'oncekit/next';
import { CHECKOUT_WORDS } from '../../../components/shop/checkout-words.ts';
import { checkout } from '../../../shop/orders/checkout.ts';
import { showingRefusals } from '../../../shop/session/refused-form.ts';

export const placeOrder = showingRefusals(serverAction(checkout), { words: CHECKOUT_WORDS });
