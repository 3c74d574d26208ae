import { randomUUID } from 'node:crypto';
import { routeHandler } from 'oncekit/next';
import { vi } from 'vitest';
import { openShop } from '../shop.fixture.ts';

/** The answer of `next/headers` in these tests: Next itself is not here. */
const current = vi.hoisted(() => ({ headers: new Headers() }));
vi.mock('next/headers.js', () => ({
  headers: async () => current.headers,
  cookies: async () => ({ get: () => undefined }),
}));

vi.mock('next/server.js', () => ({ connection: async () => {} }));

export interface Answer {
  status: number;
  headers: Headers;
  // biome-ignore lint/suspicious/noExplicitAny: tests look into it
  body: any;
}

type Sent = { key?: string; body?: unknown; token?: string; headers?: Record<string, string> };
type Route = (request: Request, context: { params: Promise<{ id: string }> }) => Promise<Response>;

/** The shop with the handlers of its API, called as Next calls them. */
export async function openApi() {
  const shop = await openShop();
  const { createOrder, orderCreated } = await import('./order-create.ts');
  const { createRefund, refundCreated, refundInput } = await import('./refund-create.ts');
  const { deleteOrder, putAddress, showOrder } = await import('./order.ts');
  const { ownRoute } = await import('./route.ts');
  // As app/api puts them together; that the routes do so, the end-to-end tests see.
  const routes = {
    create: routeHandler(createOrder, { respond: orderCreated }),
    refund: routeHandler(createRefund, { input: refundInput, respond: refundCreated }),
    get: ownRoute(showOrder),
    cancel: ownRoute(deleteOrder),
    put: ownRoute(putAddress),
  };

  async function call(route: Route, method: string, path: string, sent: Sent, id = ''): Promise<Answer> {
    const { key, body, token = 'demo-alice', headers = {} } = sent;
    const request = new Request(`http://shop.test${path}`, {
      method,
      headers: {
        ...(token ? { Authorization: `Bearer ${token}` } : {}),
        ...(body === undefined ? {} : { 'Content-Type': 'application/json' }),
        ...(key ? { 'Idempotency-Key': key } : {}),
        ...headers,
      },
      ...(body === undefined ? {} : { body: typeof body === 'string' ? body : JSON.stringify(body) }),
    });
    current.headers = request.headers;
    const response = await route(request, { params: Promise.resolve({ id }) });
    const text = await response.text();
    return { status: response.status, headers: response.headers, body: text ? JSON.parse(text) : undefined };
  }

  const MUG = { sku: 'mug', quantity: 2, payment_method: 'pm_card_visa' };
  const alice = { tenant: 'demo', principal: 'alice' };
  const create = (sent: Sent) => call(routes.create as Route, 'POST', '/api/orders', { body: MUG, ...sent });
  return {
    shop,
    MUG,
    alice,
    create,
    async created(): Promise<Answer> {
      const answer = await create({ key: randomUUID() });
      if (answer.status !== 201) throw new Error(JSON.stringify(answer.body));
      return answer;
    },
    /** An order of Alice's that nobody has paid, with one mug out of stock for it. */
    async unpaid(status = 'pending'): Promise<string> {
      const id = randomUUID();
      await shop.client.product.update({ where: { sku: 'mug' }, data: { stock: { decrement: 1 } } });
      const what = { sku: 'mug', quantity: 1, amountCents: 1800, status, source: 'api', paymentMethod: 'pm_card_visa' };
      await shop.client.order.create({ data: { id, ...alice, ...what } });
      return id;
    },
    get: (id: string, sent: Sent = {}) => call(routes.get, 'GET', `/api/orders/${id}`, sent, id),
    cancel: (id: string, sent: Sent = {}) => call(routes.cancel, 'DELETE', `/api/orders/${id}`, sent, id),
    put: (id: string, sent: Sent) => call(routes.put, 'PUT', `/api/orders/${id}/address`, sent, id),
    refund: (id: string, sent: Sent) => call(routes.refund as Route, 'POST', `/api/orders/${id}/refunds`, sent, id),
  };
}
