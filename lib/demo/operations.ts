import { checkout } from './checkout.ts';
import { labOrder } from './lab.ts';

/** Every operation of the demo, for the status route and the admin view. */
export const operations = [checkout, labOrder] as const;
