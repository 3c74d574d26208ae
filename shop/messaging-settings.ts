import { webhook } from 'oncekit/messaging';
import { eventSecrets } from './env.ts';

type Environment = Readonly<Record<string, string | undefined>>;

/** A sentence for everything that keeps the shop from telling others. What would break each order stops the start instead. */
export function messagingComplaints(env: Environment): string[] {
  const { EVENTS_WEBHOOK_URL: url, NATS_URL: nats } = env;
  const found: string[] = [];
  if (url && !(URL.canParse(url) && /^https?:$/.test(new URL(url).protocol))) {
    found.push('EVENTS_WEBHOOK_URL is no address. An example: https://partner.example.com/events');
  } else if (url) {
    try {
      webhook({ url, secrets: eventSecrets(env) });
    } catch (error) {
      found.push(`EVENTS_WEBHOOK_URL and EVENTS_WEBHOOK_SECRET cannot be used. ${(error as Error).message}`);
    }
  }
  if (nats && !/^(nats|tls):\/\/./.test(nats)) found.push('NATS_URL is no address. An example: nats://127.0.0.1:4222');
  return found;
}
