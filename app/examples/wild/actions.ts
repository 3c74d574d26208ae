'use server';

import { serverAction } from 'oncekit/next';
import { wildOrder } from '../../../shop/lab/example-forms.ts';

export const orderInTheWild = serverAction(wildOrder);
