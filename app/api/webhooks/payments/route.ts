import { receivePaymentWebhook } from '../../../../shop/payments/webhook.ts';

export const POST = receivePaymentWebhook;
