import type { IncomingMessage, ServerResponse } from 'node:http';
import { z } from 'zod';
import { faultInput } from './faults.ts';
import { DEFAULT_SETTINGS, type Gateway } from './gateway.ts';
import { ledgerView } from './ledger-view.ts';
import { readBody } from './read-body.ts';
import { dispute, failRefund } from './refunds.ts';
import { StripeError } from './stripe-error.ts';

export const CONTROL_PREFIX = '/_';

type Answer = [status: number, body?: unknown];
type Handler = (body: string) => Answer;

/** A control request that makes no sense. Its message is a sentence for the person who sent it. */
class ControlInputError extends Error {}

/** Answers a control request. Never rejects. */
export async function control(req: IncomingMessage, res: ServerResponse, gateway: Gateway): Promise<void> {
  try {
    if (!isLocal(req)) return send(res, [403, { error: 'The control API answers only to localhost and 127.0.0.1.' }]);
    const body = await readBody(req);
    const url = new URL(req.url ?? '/', 'http://gateway');
    const known = routes(gateway, url.searchParams);
    const handlers = known[url.pathname];
    if (!handlers) {
      return send(res, [404, { error: `There is no ${url.pathname}. Known: ${Object.keys(known).join(', ')}.` }]);
    }
    const handler = handlers[req.method ?? ''];
    if (!handler) return send(res, [405, { error: `${url.pathname} knows ${Object.keys(handlers).join(', ')}.` }]);
    send(res, handler(body));
  } catch (error) {
    if (error instanceof StripeError) return send(res, [error.status, { error: error.message }]);
    if (error instanceof ControlInputError) return send(res, [400, { error: error.message }]);
    res.destroy(); // the request broke off
  }
}

const strict = { error: 'The body must be a JSON object with known fields only.' };
const onOff = (name: string) => z.boolean({ error: `"${name}" must be true or false.` }).optional();
const settingsInput = z.strictObject(
  { honours_keys: onOff('honours_keys'), searchable: onOff('searchable') },
  {
    error: 'The body must be a JSON object. Known fields: honours_keys, searchable.',
  },
);
const forgetInput = z.strictObject({ key: z.string({ error: '"key" must be a string.' }).optional() }, strict);
const refundInput = z.strictObject({ refund: z.string({ error: '"refund" must be an id.' }) }, strict);
const disputeInput = z.strictObject({ payment_intent: z.string({ error: '"payment_intent" must be an id.' }) }, strict);

function routes(gateway: Gateway, query: URLSearchParams): Record<string, Record<string, Handler>> {
  return {
    '/_faults': {
      GET: () => [200, gateway.faults.list()],
      POST: (body) => [201, gateway.faults.add(parse(faultInput, body), gateway.now())],
      DELETE: () => {
        gateway.faults.clear();
        return [204];
      },
    },
    '/_settings': {
      GET: () => [200, gateway.settings],
      POST: (body) => {
        const { honours_keys, searchable } = parse(settingsInput, body);
        gateway.settings = {
          honours_keys: honours_keys ?? gateway.settings.honours_keys,
          searchable: searchable ?? gateway.settings.searchable,
        };
        return [200, gateway.settings];
      },
      DELETE: () => {
        gateway.settings = DEFAULT_SETTINGS;
        return [204];
      },
    },
    '/_keys/forget': {
      POST: (body) => {
        const { key } = parse(forgetInput, body || '{}');
        const before = gateway.ledger.answers;
        gateway.commit({ at: gateway.now(), forget: key ?? true });
        return [200, { forgotten: before - gateway.ledger.answers }];
      },
    },
    '/_dispute': {
      POST: (body) => {
        const origin = gateway.origin();
        const opened = dispute(gateway.ledger, parse(disputeInput, body).payment_intent, origin);
        gateway.commit({ at: origin.at, objects: opened.objects ?? [] });
        return [opened.status, opened.body];
      },
    },
    '/_refund_failed': {
      POST: (body) => {
        const origin = gateway.origin();
        const failed = failRefund(gateway.ledger, parse(refundInput, body).refund, origin);
        gateway.commit({ at: origin.at, objects: failed.objects ?? [] });
        return [failed.status, failed.body];
      },
    },
    '/_ledger': { GET: () => [200, ledgerView(gateway.ledger, query.get('order_id'))] },
    '/_requests': { GET: () => [200, gateway.log.list()] },
  };
}

function parse<T>(schema: z.ZodType<T>, body: string): T {
  let json: unknown;
  try {
    json = JSON.parse(body);
  } catch {
    throw new ControlInputError('The body must be JSON.');
  }
  const parsed = schema.safeParse(json);
  if (parsed.success) return parsed.data;
  throw new ControlInputError(parsed.error.issues.map(({ message }) => message).join(' '));
}

/**
 * Listening on 127.0.0.1 does not keep a web page out: its name may be rebound to 127.0.0.1 (then `Host` is that name),
 * and any page may post to localhost (then `Origin` is that page's).
 */
function isLocal(req: IncomingMessage): boolean {
  const { host = '', origin } = req.headers;
  return isLoopback(`http://${host}`) && (origin === undefined || isLoopback(origin));
}

function isLoopback(url: string): boolean {
  return URL.canParse(url) && ['localhost', '127.0.0.1', '[::1]'].includes(new URL(url).hostname);
}

function send(res: ServerResponse, [status, body]: Answer): void {
  if (body === undefined) return void res.writeHead(status).end();
  res.writeHead(status, { 'Content-Type': 'application/json' }).end(`${JSON.stringify(body)}\n`);
}
