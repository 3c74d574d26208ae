import { labOrder } from './order.ts';

/** The lab's order, for a form whose key is shared by all tabs of a browser. */
export const tabsOrder = labOrder.as('example.tabs');
