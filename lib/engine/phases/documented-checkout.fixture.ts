import * as zod from 'zod';
import * as oncekit from '../../index.ts';
import { documented } from '../../integration/documented.fixture.ts';
import { ANN, type kit, type Tx } from '../../integration/kit.fixture.ts';
import * as oncekitStripe from '../../stripe/index.ts';
import { type FuzzedProvider, ProviderError } from './fuzzed-provider.fixture.ts';

/** The complete checkout of docs/phases.md, as it stands there, with a fuzzed provider as its Stripe. */

type Idempotency = ReturnType<typeof kit>;
type Options = Parameters<Idempotency['operation']>[0];
type Context = oncekit.PhasesContext<unknown, Tx>;
type Operation = ReturnType<ReturnType<Idempotency['operation']>['phases']>;

/** @param operation its name, of its own so that the worker of another key passes it over */
export function documentedCheckout(idempotency: Idempotency, operation: string, provider: FuzzedProvider): Operation {
  const modules: Record<string, unknown> = {
    oncekit,
    'oncekit/stripe': oncekitStripe,
    zod,
    stripe: { __esModule: true, default: stripeOf(provider) },
    './idempotency': {
      idempotency: { operation: (options: Options) => inDemo(idempotency, { ...options, name: operation }) },
    },
  };
  return documented<{ checkout: Operation }>('docs/phases.md', 'lib/checkout.ts', modules).checkout;
}

/** The page's operation, whose orders have what the demo's table needs besides, and whose runs are short. */
function inDemo(idempotency: Idempotency, options: Options) {
  const { onRefused } = options;
  const defined = idempotency.operation({
    ...options,
    ...(onRefused && { onRefused: (tx: Tx, refused) => onRefused(ordersOf(tx), refused) }),
  });
  const phases = (run: (context: Context) => Promise<never>) =>
    defined.phases(async (context) =>
      run({
        ...context,
        atomic: (name, phase) => context.atomic(name, (tx) => phase(ordersOf(tx))),
        foreign: (name, call) => context.foreign(name, { ...call, maxTries: 2 }), // pauses take a test's time
      }),
    );
  return { phases };
}

function ordersOf(tx: Tx): Tx {
  const create = ({ data }: { data: object }) =>
    tx.order.create({ data: { ...data, tenant: ANN.tenant, source: 'api' } as never });
  const order = new Proxy(tx.order, { get: (of, name) => (name === 'create' ? create : Reflect.get(of, name)) });
  return new Proxy(tx, { get: (of, name) => (name === 'order' ? order : Reflect.get(of, name)) });
}

/** As much of Stripe's client as the page uses. It gives a request up at once that is not answered at once. */
function stripeOf(provider: FuzzedProvider) {
  let metadata: unknown;
  const intentOf = ({ id }: { id: string }) => ({ id, status: 'succeeded', metadata });
  const paymentIntents = {
    create: async (params: { amount: number; metadata: object }, { idempotencyKey }: { idempotencyKey: string }) => {
      metadata = params.metadata;
      const sent = provider.send(idempotencyKey, { amount: params.amount, declinesFirst: true });
      return intentOf(await answeredAtOnce(sent).catch(failAsStripe));
    },
    search: async ({ query }: { query: string }) => {
      if (!query.startsWith("metadata['call']:'")) throw new Error(`Nothing is found by ${query}.`);
      const found = await Promise.resolve()
        .then(() => provider.find())
        .catch(failAsStripe);
      if (found === 'pending') return { data: [{ id: 'ch_0', status: 'processing' }] };
      return { data: found === 'absent' ? [] : [intentOf(found.found)] };
    },
    retrieve: async (id: string) => {
      if (!provider.charges.some((charge) => charge.id === id)) throw new Error(`There is no ${id}.`);
      return intentOf({ id });
    },
  };
  return class Stripe {
    readonly paymentIntents = paymentIntents;
  };
}

async function answeredAtOnce<T>(sent: Promise<T>): Promise<T> {
  sent.catch(() => {}); // nobody waits for it any more
  const gaveUp = new Promise<never>((_, reject) => setImmediate(() => reject(new ProviderError('lost'))));
  return await Promise.race([sent, gaveUp]);
}

/** The errors of Stripe's package, by their shape. */
function failAsStripe(error: Error): never {
  const shapes: Record<string, object> = {
    declined: { rawType: 'card_error', statusCode: 402, decline_code: 'generic_decline' },
    refused: { rawType: 'rate_limit_error', statusCode: 429 },
    replayed: { rawType: 'api_error', statusCode: 500, headers: { 'idempotent-replayed': 'true' } },
  };
  throw Object.assign(error, { rawType: undefined, statusCode: undefined, ...shapes[error.message] });
}
