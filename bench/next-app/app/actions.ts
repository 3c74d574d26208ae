'use server';

import { serverAction } from 'oncekit/next';
import { bare, orderInput, orderOperation, plainClient } from '../../../bench/order.ts';
import { clientOrNone } from '../../../shop/db.ts';

export const withKit = serverAction(orderOperation(clientOrNone()));

const client = plainClient();

export async function withoutKit(input: unknown) {
  const { n } = orderInput.parse(input);
  const { id } = await bare(client, n);
  return { ok: true, data: { id } };
}
