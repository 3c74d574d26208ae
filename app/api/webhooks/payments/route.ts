import { receivePaymentWebhook } from '../../../../lib/demo/payment-webhook.ts';

export const POST = receivePaymentWebhook;
