import { labOrder } from './order.ts';

/** The lab's order, for a form that speaks two languages. */
export const languagesOrder = labOrder.as('example.languages');
