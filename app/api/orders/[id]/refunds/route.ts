import { routeHandler } from 'oncekit/next';
import { createRefund, refundCreated, refundInput } from '../../../../../shop/api/refund-create.ts';

export const POST = routeHandler(createRefund, { input: refundInput, respond: refundCreated });
