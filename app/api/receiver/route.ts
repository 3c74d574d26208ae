import { receiveWebhook } from '../../../shop/receiver/webhook.ts';

export const POST = receiveWebhook;
