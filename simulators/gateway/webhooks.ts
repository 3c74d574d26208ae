import { createHmac } from 'node:crypto';
import type Stripe from 'stripe';
import type { Ledger } from './ledger.ts';

export interface WebhookEndpoint {
  url: string;
  secret: string;
  /** The wait after a first failure; it doubles up to 30 s. */
  firstRetryMs?: number;
}

const TRIES = 10;
const LONGEST_WAIT_MS = 30_000;
const AT_ONCE = 8;
const ANSWER_WITHIN_MS = 10_000;

/**
 * Brings each event to the endpoint at least once, signed as Stripe does; in no particular order, and off the path of
 * the answers. What an endpoint refused ten times waits for the next start: nothing but its 2xx takes an event off.
 */
export class Webhooks {
  #endpoint: WebhookEndpoint;
  #ledger: Ledger;
  #now: () => number;
  #closing: AbortSignal;
  #waiting: { event: Stripe.Event; tries: number }[] = [];
  #underWay = 0;

  constructor(
    endpoint: WebhookEndpoint,
    ledger: Ledger,
    { now, closing }: { now: () => number; closing: AbortSignal },
  ) {
    this.#endpoint = endpoint;
    this.#ledger = ledger;
    this.#now = now;
    this.#closing = closing;
  }

  send(event: Stripe.Event, tries = 0): void {
    this.#waiting.push({ event, tries });
    this.#next();
  }

  /** Events that an earlier run of the gateway left undelivered. */
  resume(): void {
    for (const event of this.#ledger.all('event')) if (event.pending_webhooks > 0) this.send(event);
  }

  #next(): void {
    while (this.#underWay < AT_ONCE && !this.#closing.aborted) {
      const next = this.#waiting.shift();
      if (!next) return;
      this.#underWay += 1;
      const delivery = this.#deliver(next.event, next.tries).catch((error) => console.error(error)); // a full disk
      void delivery.finally(() => {
        this.#underWay -= 1;
        this.#next();
      });
    }
  }

  async #deliver(event: Stripe.Event, tries: number): Promise<void> {
    const taken = await this.#post(event);
    if (this.#closing.aborted) return; // The ledger is closed. If it was taken, it will be sent once more.
    if (taken) return this.#ledger.commit({ at: this.#now(), delivered: event.id });
    if (tries + 1 >= TRIES) return;
    const waitMs = Math.min((this.#endpoint.firstRetryMs ?? 250) * 2 ** tries, LONGEST_WAIT_MS);
    // Not counted as under way: an event that is refused again and again must not keep others waiting.
    setTimeout(() => this.send(event, tries + 1), waitMs).unref();
  }

  async #post(event: Stripe.Event): Promise<boolean> {
    const body = JSON.stringify(event, null, 2);
    try {
      const answer = await fetch(this.#endpoint.url, {
        method: 'POST',
        body,
        headers: {
          'Content-Type': 'application/json; charset=utf-8',
          'Stripe-Signature': signature(body, this.#endpoint.secret, this.#now()),
          'User-Agent': 'Stripe/1.0 (local gateway)',
        },
        redirect: 'manual',
        signal: AbortSignal.any([this.#closing, AbortSignal.timeout(ANSWER_WITHIN_MS)]),
      });
      await answer.body?.cancel();
      return answer.ok;
    } catch {
      return false;
    }
  }
}

/** Stripe's scheme (https://docs.stripe.com/webhooks/signature): the HMAC covers the time, so that a copy ages. */
function signature(body: string, secret: string, now: number): string {
  const time = Math.floor(now / 1000);
  const hmac = createHmac('sha256', secret).update(`${time}.${body}`).digest('hex');
  return `t=${time},v1=${hmac}`;
}
