import { routeHandler } from 'oncekit/next';
import { createRefund, refundCreated, refundInput } from '../../../../../lib/demo/api-refund-create.ts';

export const POST = routeHandler(createRefund, { input: refundInput, respond: refundCreated });
