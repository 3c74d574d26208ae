import { randomBytes } from 'node:crypto';
import type Stripe from 'stripe';
import type { Charge, Dispute, Refund } from './ledger.ts';
import type { Decline, TestCard } from './payment-methods.ts';

/** How Stripe's objects look when they are new. Nothing here decides anything. */

/** The API version of the stripe package the demo installs. */
const API_VERSION = '2026-10-28.endive';

export function newId(prefix: string): string {
  return `${prefix}_${randomBytes(12).toString('hex')}`;
}

const seconds = (ms: number) => Math.floor(ms / 1000);

type NewIntent = Pick<Stripe.PaymentIntent, 'amount' | 'currency' | 'description' | 'metadata' | 'payment_method'>;

export function newIntent(given: NewIntent, at: number): Stripe.PaymentIntent {
  const id = newId('pi');
  return {
    id,
    object: 'payment_intent',
    ...given,
    allowed_payment_method_types: null,
    amount_capturable: 0,
    amount_details: { tip: {} },
    amount_received: 0,
    application: null,
    application_fee_amount: null,
    automatic_payment_methods: null,
    canceled_at: null,
    cancellation_reason: null,
    capture_method: 'automatic',
    client_secret: `${id}_secret_${randomBytes(12).toString('hex')}`,
    confirmation_method: 'automatic',
    created: seconds(at),
    customer: null,
    customer_account: null,
    excluded_payment_method_types: null,
    last_payment_error: null,
    latest_charge: null,
    livemode: false,
    managed_payments: null,
    next_action: null,
    on_behalf_of: null,
    payment_method_configuration_details: null,
    payment_method_options: null,
    payment_method_types: ['card'],
    payment_record: null,
    processing: null,
    receipt_email: null,
    review: null,
    setup_future_usage: null,
    shipping: null,
    source: null,
    statement_descriptor: null,
    statement_descriptor_suffix: null,
    status: given.payment_method ? 'requires_confirmation' : 'requires_payment_method',
    transfer_group: null,
  };
}

/** A charge of the whole intent; with `decline`, the failed attempt at one. */
export function newCharge(intent: Stripe.PaymentIntent, card: TestCard, at: number, decline?: Decline): Charge {
  return {
    id: newId('ch'),
    object: 'charge',
    amount: intent.amount,
    amount_captured: decline ? 0 : intent.amount,
    amount_refunded: 0,
    application: null,
    application_fee: null,
    application_fee_amount: null,
    balance_transaction: decline ? null : newId('txn'),
    billing_details: { address: null, email: null, name: null, phone: null, tax_id: null },
    calculated_statement_descriptor: null,
    captured: !decline,
    created: seconds(at),
    currency: intent.currency,
    customer: null,
    description: intent.description,
    disputed: false,
    failure_balance_transaction: null,
    failure_code: decline?.code ?? null,
    failure_message: decline?.message ?? null,
    fraud_details: {},
    livemode: false,
    metadata: intent.metadata,
    on_behalf_of: null,
    outcome: null,
    paid: !decline,
    payment_intent: intent.id,
    payment_method: card.id,
    payment_method_details: null,
    receipt_email: null,
    receipt_number: null,
    receipt_url: null,
    refunded: false,
    review: null,
    shipping: null,
    source: null,
    source_transfer: null,
    statement_descriptor: null,
    statement_descriptor_suffix: null,
    status: decline ? 'failed' : 'succeeded',
    transfer_data: null,
    transfer_group: null,
  };
}

/** The payment method as an error shows it. */
export function cardOf({ id, brand, last4 }: TestCard): Record<string, unknown> {
  const card = { brand, country: 'US', exp_month: 12, exp_year: 2040, funding: 'credit', last4 };
  return { id, object: 'payment_method', card, livemode: false, metadata: {}, type: 'card' };
}

type NewRefund = Pick<Refund, 'amount' | 'metadata' | 'reason'>;

export function newRefund(given: NewRefund, charge: Charge, at: number): Refund {
  return {
    id: newId('re'),
    object: 'refund',
    ...given,
    balance_transaction: newId('txn'),
    charge: charge.id,
    created: seconds(at),
    currency: charge.currency,
    customer: null,
    customer_account: null,
    payment_intent: charge.payment_intent,
    payment_method: charge.payment_method,
    receipt_number: null,
    source_transfer_reversal: null,
    status: 'succeeded',
    transfer_reversal: null,
  };
}

export function newDispute(charge: Charge, at: number): Dispute {
  return {
    id: newId('du'),
    object: 'dispute',
    amount: charge.amount,
    balance_transactions: [],
    charge: charge.id,
    created: seconds(at),
    currency: charge.currency,
    enhanced_eligibility_types: [],
    intended_submission_method: null,
    is_charge_refundable: false,
    livemode: false,
    metadata: {},
    payment_intent: charge.payment_intent,
    reason: 'fraudulent',
    status: 'needs_response',
  };
}

/** The caller and the time: what every new object and event is made with. */
export interface Origin {
  /** Milliseconds since 1970. */
  at: number;
  requestId: string | null;
  idempotencyKey: string | null;
  /** How many webhook endpoints are to be told. */
  webhooks: number;
}

type EventType =
  | 'payment_intent.succeeded'
  | 'payment_intent.payment_failed'
  | 'payment_intent.canceled'
  | 'charge.refunded'
  | 'refund.created'
  | 'refund.failed'
  | 'charge.dispute.created';

export function newEvent(type: EventType, object: { object: string }, origin: Origin): Stripe.Event {
  return {
    id: newId('evt'),
    object: 'event',
    api_version: API_VERSION,
    created: seconds(origin.at),
    data: { object },
    livemode: false,
    pending_webhooks: origin.webhooks,
    request: { id: origin.requestId, idempotency_key: origin.idempotencyKey },
    type,
  } as unknown as Stripe.Event; // a union of 250 types, which only the reader narrows
}
