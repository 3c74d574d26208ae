const LOCAL_KEY = 'sk_test_local';

export interface Payments {
  /** The port of the local gateway; undefined when the demo needs none. */
  gatewayPort: number | undefined;
  env: Record<string, string>;
}

/**
 * The demo's payments go to Stripe with a real STRIPE_SECRET_KEY, to STRIPE_API_BASE where one is given, else to
 * the local gateway. A real key is never sent to the local gateway.
 */
export function paymentsFrom(env: Readonly<Record<string, string | undefined>>, port: number): Payments {
  const key = env.STRIPE_SECRET_KEY || LOCAL_KEY;
  const isElsewhere = key !== LOCAL_KEY || Boolean(env.STRIPE_API_BASE);
  if (isElsewhere) return { gatewayPort: undefined, env: { STRIPE_SECRET_KEY: key } };
  return { gatewayPort: port, env: { STRIPE_SECRET_KEY: key, STRIPE_API_BASE: `http://127.0.0.1:${port}` } };
}
