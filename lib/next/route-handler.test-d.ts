import { createIdempotency } from 'oncekit';
import { routeHandler } from 'oncekit/next';
import { describe, expectTypeOf, test } from 'vitest';
import { z } from 'zod';
import { createClient } from '../../shop/db.ts';

const order = createIdempotency({ prisma: createClient('') })
  .operation({ name: 'orders.create', schema: z.object({ sku: z.string() }) })
  .handler(async ({ input }) => input.sku);
const POST = routeHandler(order);

/** `next build --webpack` writes these into `.next/types` and holds every route against them. */
type SecondArg<T> = T extends (...args: [never, infer Second]) => unknown ? Second : never;
interface NextRouteContext {
  params: Promise<Record<string, string | string[] | undefined>>;
}

describe('a route handler fits', () => {
  test('what webpack’s build checks: a second parameter that cannot be undefined', () => {
    expectTypeOf<SecondArg<typeof POST>>().toExtend<NextRouteContext>();
  });

  test('what Turbopack’s build checks: Next calls it with a context', () => {
    expectTypeOf(POST).toExtend<(request: Request, context: NextRouteContext) => Promise<Response>>();
  });

  test('a server that has a request and nothing else', () => {
    expectTypeOf(POST).toBeCallableWith(new Request('https://shop.example'));
    expectTypeOf(POST).toExtend<(request: Request) => Promise<Response>>();
  });
});
