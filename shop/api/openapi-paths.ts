import { headersNamed, json, parameters, type Refused, refusals, schema } from './openapi-components.ts';
import { ANSWER_KEPT_HOURS, KEY_WINDOW_HOURS } from './windows.ts';

/** Refusals of any operation with a key. */
const KEYED: readonly Refused[] = [
  'validation',
  'malformed_body',
  'key_missing',
  'key_malformed',
  'key_invalid',
  'unauthorized',
  'in_flight',
  'outcome_unknown',
  'key_expired',
  'key_abandoned',
  'payload_too_large',
  'unsupported_media_type',
  'payload_mismatch',
  'internal',
  'phase_mismatch',
  'result_unreadable',
  'result_too_large',
  'unavailable',
];

const AWAY: readonly Refused[] = ['internal', 'unavailable'];
const STORED = ['Idempotency-Status', 'Idempotency-Key-Expires'] as const;
const key = { $ref: '#/components/parameters/IdempotencyKey' };
const orderId = { $ref: '#/components/parameters/OrderId' };

/** The promise of this operation's key, for clients that decide by it how long they retry. */
const once = {
  'x-idempotency-window': `PT${KEY_WINDOW_HOURS}H`,
  'x-idempotency-retention': `PT${ANSWER_KEPT_HOURS}H`,
};

function body(name: Parameters<typeof json>[0]) {
  return { required: true, content: json(name) };
}

const orderShown = { description: 'The order.', headers: headersNamed('ETag'), content: json('Order') };

const orders = {
  post: {
    operationId: 'orders.create',
    summary: 'Places an order and pays it, once.',
    ...once,
    parameters: [key],
    requestBody: body('NewOrder'),
    responses: {
      201: {
        description: 'Placed and paid. A retry gets the same answer.',
        headers: headersNamed('Location', 'ETag', ...STORED),
        content: json('Order'),
      },
      ...refusals(
        [
          ...KEYED,
          'rate_limited',
          { reason: 'card_declined', status: 402 },
          { reason: 'not_for_sale', status: 404 },
          { reason: 'out_of_stock', status: 409 },
        ],
        { isKeyed: true },
      ),
    },
  },
};

const order = {
  parameters: [orderId],
  get: {
    operationId: 'orders.get',
    summary: 'Shows an order of your own.',
    parameters: [{ $ref: '#/components/parameters/IfNoneMatch' }],
    responses: {
      200: orderShown,
      304: { description: 'It is as you have it.', headers: headersNamed('ETag') },
      ...refusals(['unauthorized', 'not_found', ...AWAY]),
    },
  },
  delete: {
    operationId: 'orders.cancel',
    summary: 'Cancels an order that is not paid. Needs no key: what is cancelled stays so.',
    parameters: [{ ...parameters.IfMatch, required: false }],
    responses: {
      204: { description: 'Nothing of it will be delivered or charged: cancelled, or never there.' },
      ...refusals(['unauthorized', 'precondition_failed', { reason: 'not_cancellable', status: 409 }, ...AWAY]),
    },
  },
};

const address = {
  parameters: [orderId],
  put: {
    operationId: 'orders.address',
    summary: 'Says where to deliver. Needs no key, but the version of the order that you have seen.',
    parameters: [{ $ref: '#/components/parameters/IfMatch' }],
    requestBody: body('Address'),
    responses: {
      200: orderShown,
      ...refusals([
        'validation',
        'malformed_body',
        'unauthorized',
        'not_found',
        'precondition_failed',
        'payload_too_large',
        'unsupported_media_type',
        'precondition_required',
        ...AWAY,
      ]),
    },
  },
};

const refunds = {
  parameters: [orderId],
  post: {
    operationId: 'refunds.create',
    summary: 'Gives back all or part of what was paid, once.',
    ...once,
    parameters: [key],
    requestBody: body('NewRefund'),
    responses: {
      201: { description: 'Given back.', headers: headersNamed(...STORED), content: json('Refund') },
      ...refusals(
        [
          ...KEYED,
          { reason: 'order_not_found', status: 404 },
          { reason: 'not_paid', status: 409 },
          { reason: 'payment_unknown', status: 409 },
          { reason: 'refund_refused', status: 409 },
          { reason: 'exceeds_payment', status: 422 },
        ],
        { isKeyed: true },
      ),
    },
  },
};

const products = {
  get: {
    operationId: 'products.list',
    summary: 'What is sold, and how much of it is in stock.',
    security: [],
    responses: { 200: { description: 'All products.', content: json('Products') }, ...refusals(AWAY) },
  },
};

const wait = { 'Retry-After': { $ref: '#/components/headers/Retry-After' } };
const asked: readonly Refused[] = [
  'key_malformed',
  'key_invalid',
  'unauthorized',
  'not_found',
  'rate_limited',
  ...AWAY,
];

const keys = {
  parameters: [
    { name: 'operation', in: 'path', required: true, schema: { type: 'string' }, example: 'orders.create' },
    { name: 'key', in: 'path', required: true, description: 'Percent-encoded.', schema: { type: 'string' } },
  ],
  get: {
    operationId: 'keys.status',
    summary: 'What became of a key of your own. Changes nothing.',
    responses: {
      200: { description: 'Its state, and its answer once there is one.', headers: wait, content: json('KeyStatus') },
      ...refusals(asked),
    },
  },
  delete: {
    operationId: 'keys.fence',
    summary: 'Gives a key up: it will never be executed. Only then may the intent go on under another key.',
    responses: {
      200: { description: 'It will never be executed.', content: json('FencedKey') },
      409: {
        description: 'It is running, or was executed already.',
        headers: wait,
        content: { 'application/json': { schema: schema('KeyStatus') } },
      },
      ...refusals([...asked, 'key_expired']),
    },
  },
};

export const paths = {
  '/api/products': products,
  '/api/orders': orders,
  '/api/orders/{id}': order,
  '/api/orders/{id}/address': address,
  '/api/orders/{id}/refunds': refunds,
  '/api/idempotency/{operation}/{key}': keys,
};
