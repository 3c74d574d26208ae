/**
 * The pages take this for granted: a shop's client with its models, and the kit set up for it. A page's code imports these
 * files by name, or uses what the last one declares without saying where it comes from.
 */
export const PAGE_CONTEXT = {
  'lib/generated/prisma/client.ts': `
    type Where = Record<string, unknown>;
    interface Model<Row> {
      create(args: { data: Where; select?: object }): Promise<Row>;
      count(args?: { where?: Where }): Promise<number>;
      findUnique(args: { where: Where; select?: object }): Promise<Row | null>;
      findUniqueOrThrow(args: { where: Where; select?: object }): Promise<Row>;
      findFirst(args: { where: Where; select?: object }): Promise<Row | null>;
      update(args: { where: Where; data: Where }): Promise<Row>;
      updateMany(args: { where: Where; data: Where }): Promise<{ count: number }>;
    }
    interface Order {
      id: string; sku: string; quantity: number; amountCents: number; status: string;
      tenant: string; principal: string; idempotencyKey: string;
    }
    interface Product { sku: string; name: string; priceCents: number; stock: number }
    export namespace Prisma {
      export interface TransactionClient {
        order: Model<Order>;
        attempt: Model<{ sku: string }>;
        product: Model<Product>;
        $executeRaw(query: TemplateStringsArray, ...values: unknown[]): Promise<number>;
        $queryRaw<T>(query: TemplateStringsArray, ...values: unknown[]): Promise<T>;
        $transaction<R>(run: (tx: TransactionClient) => Promise<R>): Promise<R>;
        $queryRawUnsafe<T = unknown>(query: string, ...values: unknown[]): PromiseLike<T>;
      }
    }
    export declare class PrismaClient {
      constructor(options: { adapter: import('@prisma/adapter-pg').PrismaPg });
      $transaction<R>(run: (tx: Prisma.TransactionClient) => Promise<R>, options?: { timeout?: number }): Promise<R>;
    }
    export interface PrismaClient extends Prisma.TransactionClient {}`,
  'lib/prisma.ts': `
    import type { Prisma, PrismaClient } from './generated/prisma/client';
    export type Tx = Prisma.TransactionClient;
    export declare const prisma: PrismaClient;`,
  'lib/session.ts': `
    export declare const session: () => Promise<{ id: string; user?: { id: string; company: string } }>;`,
  'lib/visitor.ts': `
    export declare const currentVisitor: () => Promise<{ tenant: string; principal: string } | null>;`,
  'lib/idempotency.ts': `
    import { createIdempotency } from 'oncekit';
    import { prisma } from '@/lib/prisma';
    export const idempotency = createIdempotency({ prisma, secret: [], scope: async () => null });`,
  'lib/carts.ts': `
    export declare const cartOf: (id: string, principal: string) => Promise<{ sku: string; quantity: number } | null>;`,
  'lib/orders.ts': `
    import { z } from 'zod';
    import { idempotency } from '@/lib/idempotency';
    export const checkout = idempotency
      .operation({ name: 'checkout', schema: z.object({ sku: z.string(), quantity: z.coerce.number() }) })
      .handler(async ({ input, tx }) => tx.order.create({ data: input }));
    export const refund = checkout.as('refund');`,
  'lib/operations.ts': `
    import { checkout } from './orders';
    export const operations = [checkout] as const;`,
  'app/checkout/actions.ts': `
    import { checkout } from '@/lib/orders';
    import { serverAction } from 'oncekit/next';
    export const placeOrder = serverAction(checkout);`,
  'app/order/actions.ts': `
    import { serverAction } from 'oncekit/next';
    import { z } from 'zod';
    import { idempotency } from '@/lib/idempotency';
    const order = idempotency
      .operation({ name: 'order', schema: z.object({ quantity: z.number() }) })
      .handler(async ({ input }) => input.quantity);
    export const placeOrder = serverAction(order);`,
  'lib/checkout.ts': `
    export { checkout } from './orders';`,
  // Not installed here: the part of it that a page shows.
  'next-intl.ts': `
    export declare function useTranslations(namespace: string): (key: string, values?: Record<string, string>) => string;`,
  'lib/receipts.ts': `
    export declare const sendReceipt: (payload: unknown) => Promise<void>;`,
  'lib/messaging.ts': `
    import { createOutbox } from 'oncekit/messaging';
    import { prisma } from './prisma';
    export const outbox = createOutbox({ prisma, destinations: [] });`,
  'lib/inbox.ts': `
    import { createInbox } from 'oncekit/messaging';
    import { prisma } from './prisma';
    export const inbox = createInbox({ prisma, sources: {} });`,
  'app/checkout/checkout-form.tsx': `
    import type { Outcome } from 'oncekit';
    import type { SubmitAction } from 'oncekit/react';
    export declare function CheckoutForm(props: { action: SubmitAction<any>; initialKey: string }): React.ReactNode;`,
  'context.tsx': `
    import { Suspense } from 'react';
    import { z } from 'zod';
    import { CheckoutForm } from '@/app/checkout/checkout-form';
    import { placeOrder } from '@/app/checkout/actions';
    import { idempotency } from '@/lib/idempotency';
    import { checkout } from '@/lib/orders';
    import { prisma } from '@/lib/prisma';
    import { session } from '@/lib/session';
    import { createIdempotency } from 'oncekit';
    import { issueKey, routeHandler, serverAction, statusRoute } from 'oncekit/next';
    import { IdempotencyKeyField, IdempotentForm, SubmitStatus, useIdempotentSubmit } from 'oncekit/react';
    export {
      Suspense, z, CheckoutForm, placeOrder, idempotency, checkout, prisma, session, createIdempotency, issueKey,
      routeHandler, serverAction, statusRoute, IdempotencyKeyField, IdempotentForm, SubmitStatus, useIdempotentSubmit,
    };
    export declare const cart: { id: string };
    export declare const initialKey: string;
    export declare const intent: string;
    export declare const logger: { info(fields: object): void };
    export declare function FormSkeleton(): React.ReactNode;
    export declare function mayOrder(): Promise<boolean>;
    export declare function currentUser(): Promise<{ id: string }>;
    export declare function orderSample(key: string): Promise<void>;
    export declare const sample: typeof checkout;
    export declare const subscribe: typeof checkout;
    export declare function subscribeAction(form: FormData): Promise<void>;`,
};
