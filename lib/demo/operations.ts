import { cancelOrder } from './cancel.ts';
import { checkout } from './checkout.ts';
import { labOrder } from './lab.ts';
import { refund } from './refund.ts';

/** Every operation of the demo: for the status route, the admin view and the worker, which finishes what was begun. */
export const operations = [checkout, refund, cancelOrder, labOrder] as const;
