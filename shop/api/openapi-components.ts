import { ADVICE, type Code } from 'oncekit';
import { z } from 'zod';
import * as schemas from './schemas.ts';
import { ANSWER_KEPT_HOURS, KEY_WINDOW_HOURS } from './windows.ts';

type Json = Record<string, unknown>;

/** By the names that the document gives them. */
const named = {
  NewOrder: schemas.newOrder,
  NewRefund: schemas.newRefund,
  Address: schemas.address,
  Order: schemas.order,
  Refund: schemas.refund,
  Products: schemas.products,
  Problem: schemas.problem,
  KeyStatus: schemas.keyStatus,
  FencedKey: schemas.fencedKey,
};

/** The schemas that check the requests, as JSON Schema (2020-12): written once, so they cannot disagree. */
export function schemasOfApi(): Json {
  return Object.fromEntries(
    Object.entries(named).map(([name, schema]) => {
      // As sent: a client may meet members that are not described here, and must not fall over them.
      const { $schema, ...described } = z.toJSONSchema(schema, { io: 'input' });
      return [name, described];
    }),
  );
}

export function schema(name: keyof typeof named): Json {
  return { $ref: `#/components/schemas/${name}` };
}

export function json(name: keyof typeof named): Json {
  return { 'application/json': { schema: schema(name) } };
}

const header = (description: string, more: Json = { type: 'string' }): Json => ({ description, schema: more });

export const headers = {
  'Idempotency-Status': header('Whether this request was executed, or answered from what is stored.', {
    enum: ['stored', 'replayed'],
  }),
  'Idempotency-Key-Expires': header('Until when the answer is kept, as an HTTP date.'),
  'Retry-After': header('Whole seconds to wait.', { type: 'string', pattern: '^[1-9][0-9]*$' }),
  ETag: header('The version of the order; for If-Match and If-None-Match.', { type: 'string', pattern: '^"[^"]+"$' }),
  Location: header('The path of what was created.', { type: 'string', pattern: '^/api/' }),
  Link: header('The page of the error (rel="describedby").'),
  'WWW-Authenticate': header('How to say who you are.'),
} as const;

export const parameters = {
  IdempotencyKey: {
    name: 'Idempotency-Key',
    in: 'header',
    required: true,
    description:
      'Names this one intent. Send the same key with every retry of it: it is executed once, and each retry gets the ' +
      'same answer. 1 to 255 visible ASCII characters without comma and quotes, as a structured-field string or bare; ' +
      `a random UUID will do. The answer is kept for ${ANSWER_KEPT_HOURS} h: do not retry later than that. A key that ` +
      `this shop has made for you must be used within ${KEY_WINDOW_HOURS} h, or it is refused as \`key_expired\`.`,
    schema: { type: 'string' },
    example: '"5f1c0c9e-3a57-4d0f-9f53-0f8d8a3c2b11"',
    'x-idempotency-window': `PT${KEY_WINDOW_HOURS}H`,
    'x-idempotency-retention': `PT${ANSWER_KEPT_HOURS}H`,
  },
  IfMatch: {
    name: 'If-Match',
    in: 'header',
    required: true,
    description: 'The ETag of the order as you have seen it, or `*`. Weak ETags match nothing.',
    schema: { type: 'string' },
  },
  IfNoneMatch: {
    name: 'If-None-Match',
    in: 'header',
    required: false,
    description: 'The ETag of the order as you have it; 304 when it is still that.',
    schema: { type: 'string' },
  },
  OrderId: { name: 'id', in: 'path', required: true, schema: { type: 'string' } },
} as const;

export type HeaderName = keyof typeof headers;

/** References to headers, by name. */
export function headersNamed(...names: HeaderName[]): Json {
  return Object.fromEntries(names.map((name) => [name, { $ref: `#/components/headers/${name}` }]));
}

/** A refusal: a code of the kit, or a reason of the shop's own with its status. */
export type Refused = Code | { reason: string; status: number };

/** The responses of a route's refusals: one for each status, with the codes and reasons that it can mean. */
export function refusals(refused: readonly Refused[], { isKeyed = false } = {}): Json {
  const byStatus = new Map<number, Refused[]>();
  for (const one of refused) {
    const status = typeof one === 'string' ? ADVICE[one].status : one.status;
    byStatus.set(status, [...(byStatus.get(status) ?? []), one]);
  }
  return Object.fromEntries([...byStatus].map(([status, all]) => [status, refusal(status, all, isKeyed)]));
}

const WAIT: readonly Refused[] = ['in_flight', 'outcome_unknown', 'rate_limited', 'unavailable'];

function refusal(status: number, all: readonly Refused[], isKeyed: boolean): Json {
  const reasons = all.flatMap((one) => (typeof one === 'string' ? [] : one.reason));
  const codes = [...new Set(all.map((one) => (typeof one === 'string' ? one : 'failed')))];
  const properties = {
    status: { const: status },
    code: { enum: codes },
    ...(reasons.length > 0 ? { reason: { enum: reasons } } : {}),
  };
  const headers: HeaderName[] = ['Link'];
  if (all.some((one) => WAIT.includes(one))) headers.push('Retry-After');
  if (status === 401) headers.push('WWW-Authenticate');
  if (isKeyed && reasons.length > 0) headers.push('Idempotency-Status', 'Idempotency-Key-Expires');
  return {
    description: all.map((one) => (typeof one === 'string' ? ADVICE[one].message : `\`${one.reason}\``)).join(' · '),
    headers: headersNamed(...headers),
    content: { 'application/problem+json': { schema: { allOf: [schema('Problem'), { properties }] } } },
  };
}
