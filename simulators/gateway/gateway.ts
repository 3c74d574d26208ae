import { FaultList } from './faults.ts';
import { IdempotencyKeys } from './idempotency.ts';
import { type Entry, Ledger } from './ledger.ts';
import { type LogEntry, RequestLog } from './request-log.ts';
import type { Origin } from './stripe-objects.ts';
import { type WebhookEndpoint, Webhooks } from './webhooks.ts';

export interface Settings {
  /** `false`: a provider that knows no idempotency keys. */
  honours_keys: boolean;
  /** `false`: a provider whose payments can be looked up by their id alone. */
  searchable: boolean;
}

export const DEFAULT_SETTINGS: Settings = { honours_keys: true, searchable: true };

export interface GatewayParts {
  dataFile: string;
  webhook?: WebhookEndpoint;
  keyTtlMs: number;
  now: () => number;
}

/** All that the two halves, Stripe's API and its control, share. */
export class Gateway {
  readonly ledger: Ledger;
  readonly keys: IdempotencyKeys;
  readonly faults = new FaultList();
  readonly log = new RequestLog();
  readonly closing = new AbortController();
  readonly now: () => number;
  settings = DEFAULT_SETTINGS;
  #webhooks: Webhooks | undefined;

  constructor({ dataFile, webhook, keyTtlMs, now }: GatewayParts) {
    this.now = now;
    this.ledger = new Ledger(dataFile);
    this.keys = new IdempotencyKeys(this.ledger, { ttlMs: keyTtlMs, now });
    this.#webhooks = webhook && new Webhooks(webhook, this.ledger, { now, closing: this.closing.signal });
    this.#webhooks?.resume();
  }

  /** Writes it down, then sets its events on their way. */
  commit(entry: Entry): void {
    this.ledger.commit(entry);
    for (const object of entry.objects ?? []) {
      if (object.object === 'event') this.#webhooks?.send(object);
    }
  }

  origin(entry?: LogEntry): Origin {
    return {
      at: this.now(),
      requestId: entry?.id ?? null,
      idempotencyKey: entry?.idempotency_key ?? null,
      webhooks: this.#webhooks ? 1 : 0,
    };
  }

  close(): void {
    this.closing.abort();
    this.ledger.close();
  }
}
