import { createOrder } from './api-order-create.ts';
import { createRefund } from './api-refund-create.ts';
import { cancelOrder } from './cancel.ts';
import { checkout } from './checkout.ts';
import { dialogOrder, giftOrder, printOrder, sampleOrder, stepsOrder } from './example-forms.ts';
import { languagesOrder } from './example-languages.ts';
import { tabsOrder } from './example-tabs.ts';
import { hookFormOrder, queryOrder, safeActionOrder } from './examples.ts';
import { labOrder } from './lab.ts';
import { refund } from './refund.ts';

const examples = [hookFormOrder, queryOrder, safeActionOrder, tabsOrder, languagesOrder] as const;
const forms = [printOrder, giftOrder, sampleOrder, stepsOrder, dialogOrder] as const;

/** Every operation of the demo: for the status route, the admin view and the worker, which finishes what was begun. */
export const operations = [
  checkout,
  refund,
  createOrder,
  createRefund,
  cancelOrder,
  labOrder,
  ...examples,
  ...forms,
] as const;
