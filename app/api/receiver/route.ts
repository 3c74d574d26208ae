import { receiveWebhook } from '../../../lib/demo/receiver-webhook.ts';

export const POST = receiveWebhook;
