import { routeHandler } from 'oncekit/next';
import { labOrder } from '../../../../lib/demo/lab.ts';

/** The lab's order over HTTP, for its proof. */
export const POST = routeHandler(labOrder);
