/**
 * Where payments go and how patient we are with it. Read from the environment:
 *
 * - `STRIPE_SECRET_KEY`: a key of Stripe's dashboard, `sk_test_…` or `sk_live_…`. Alone, it means the real Stripe.
 * - `STRIPE_API_BASE`: another server that speaks Stripe's API: the local gateway, `http://127.0.0.1:12111`.
 * - `STRIPE_TIMEOUT_MS`: how long one request may take. Default 10,000.
 * - `STRIPE_KEY_TTL_MS`: for how long the provider remembers an idempotency key. Default 24 h, as Stripe says; 0: it
 *   honours none.
 * - `STRIPE_LOOKUP`: `off` for a provider that cannot be asked what became of a payment.
 */
export interface PaymentSettings {
  secretKey: string;
  /** Undefined: the real Stripe. */
  base: URL | undefined;
  timeoutMs: number;
  keyTtlMs: number;
  canLookUp: boolean;
  /** How long after a send a search may not find it yet. */
  settleMs: number;
}

type Environment = Readonly<Record<string, string | undefined>>;

const DEFAULTS = { STRIPE_TIMEOUT_MS: 10_000, STRIPE_KEY_TTL_MS: 24 * 3_600_000 } as const;
const LEAST = { STRIPE_TIMEOUT_MS: 1, STRIPE_KEY_TTL_MS: 0 } as const;

/** Throws a sentence when payments could go nowhere. */
export function paymentSettings(env: Environment = process.env): PaymentSettings {
  const [complaint] = paymentComplaints(env);
  if (complaint) throw new Error(complaint);
  const base = env.STRIPE_API_BASE ? new URL(env.STRIPE_API_BASE) : undefined;
  return {
    secretKey: env.STRIPE_SECRET_KEY || 'sk_test_local',
    base,
    timeoutMs: milliseconds(env, 'STRIPE_TIMEOUT_MS'),
    keyTtlMs: milliseconds(env, 'STRIPE_KEY_TTL_MS'),
    canLookUp: env.STRIPE_LOOKUP !== 'off',
    // Stripe's search lags, "under a minute" (https://docs.stripe.com/search#data-freshness); the local gateway's does
    // not, but a request may still be on its way to it.
    settleMs: base ? 1000 : 60_000,
  };
}

/** A sentence for everything that keeps payments from working. */
export function paymentComplaints(env: Environment): string[] {
  const { STRIPE_SECRET_KEY: key, STRIPE_API_BASE: base } = env;
  const found: string[] = [];
  if (!key && !base) {
    found.push(
      'Neither STRIPE_SECRET_KEY nor STRIPE_API_BASE is set. Where payments go: to Stripe, with a key of its ' +
        'dashboard (sk_test_…), or to the local gateway (STRIPE_API_BASE=http://127.0.0.1:12111)',
    );
  }
  if (key && !/^(sk|rk)_(test|live)_./.test(key)) {
    found.push("STRIPE_SECRET_KEY is no secret key of Stripe's: it begins with sk_test_ or sk_live_.");
  }
  // A live key moves real money: it is not shown to a server that only speaks like Stripe, maybe without encryption.
  if (base && key && /^.k_live_/.test(key)) {
    found.push('STRIPE_API_BASE is set beside a live STRIPE_SECRET_KEY. Unset one of them.');
  }
  if (base && (!URL.canParse(base) || !/^https?:$/.test(new URL(base).protocol))) {
    found.push('STRIPE_API_BASE is no address. An example: http://127.0.0.1:12111');
  }
  for (const name of Object.keys(DEFAULTS) as (keyof typeof DEFAULTS)[]) {
    if (!(milliseconds(env, name) >= LEAST[name]))
      found.push(`${name} is no number of milliseconds. Unset, it is ${DEFAULTS[name]}.`);
  }
  if (env.STRIPE_LOOKUP && !/^(on|off)$/.test(env.STRIPE_LOOKUP)) {
    found.push('STRIPE_LOOKUP is "on", which is the default, or "off".');
  }
  return found;
}

function milliseconds(env: Environment, name: keyof typeof DEFAULTS): number {
  return env[name] ? Math.floor(Number(env[name])) : DEFAULTS[name];
}
