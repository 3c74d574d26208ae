import { createOrder } from './api/order-create.ts';
import { createRefund } from './api/refund-create.ts';
import { dialogOrder, giftOrder, printOrder, sampleOrder, simplestOrder, stepsOrder } from './lab/example-forms.ts';
import { languagesOrder } from './lab/example-languages.ts';
import { tabsOrder } from './lab/example-tabs.ts';
import { modalOrder, passingOrder, shelfOrder } from './lab/example-visits.ts';
import { wildOrder } from './lab/example-wild.ts';
import { hookFormOrder, queryOrder, safeActionOrder } from './lab/examples.ts';
import { labOrder } from './lab/order.ts';
import { conformOrder, hookRowsOrder, tanstackFormOrder } from './lab/parcel-order.ts';
import { cancelOrder } from './orders/cancel.ts';
import { checkout } from './orders/checkout.ts';
import { refund } from './payments/refund.ts';
import { unexpectedRefund } from './payments/unexpected-refund.ts';

const examples = [hookFormOrder, queryOrder, safeActionOrder, tabsOrder, languagesOrder] as const;
const parcels = [hookRowsOrder, tanstackFormOrder, conformOrder] as const;
const forms = [simplestOrder, printOrder, giftOrder, sampleOrder, stepsOrder, dialogOrder, wildOrder] as const;
const visits = [shelfOrder, passingOrder, modalOrder] as const;

/** Every operation of the demo: for the status route, the admin view and the worker, which finishes what was begun. */
export const operations = [
  checkout,
  refund,
  createOrder,
  createRefund,
  unexpectedRefund,
  cancelOrder,
  labOrder,
  ...examples,
  ...forms,
  ...visits,
  ...parcels,
] as const;
