import { secretProblems } from 'oncekit';
import { paymentComplaints } from './payments/settings.ts';

/** Settings that the demo cannot run without, and how to make them. */
const REQUIRED = {
  DATABASE_URL: 'Where PostgreSQL is: postgresql://user:password@localhost:5432/shop',
  IDEMPOTENCY_SECRET: 'Signs idempotency keys. Make one with: openssl rand -base64 32',
  SESSION_SECRET: 'Encrypts the session cookie. Make one with: openssl rand -base64 32',
  ADMIN_PASSWORD: 'Opens /admin. Make one with: openssl rand -base64 18',
  STRIPE_WEBHOOK_SECRET: 'Proves that a webhook comes from the payment provider, who shows it: whsec_…',
  CRON_SECRET: "Opens the worker's cron routes. Make one with: openssl rand -base64 32",
  METRICS_TOKEN: 'Opens /api/metrics. Make one with: openssl rand -base64 32',
} as const;

type Name = keyof typeof REQUIRED;
type Environment = Readonly<Record<string, string | undefined>>;

/** All that must stay secret: nobody may guess one, and none may do the work of two. */
const SECRETS = [
  'IDEMPOTENCY_SECRET',
  'SESSION_SECRET',
  'ADMIN_PASSWORD',
  'STRIPE_WEBHOOK_SECRET',
  'EVENTS_WEBHOOK_SECRET',
  'CRON_SECRET',
  'METRICS_TOKEN',
] as const;
/** Those of which there may be several, comma-separated, while one takes the place of another. */
const LISTS: readonly string[] = ['IDEMPOTENCY_SECRET', 'STRIPE_WEBHOOK_SECRET', 'EVENTS_WEBHOOK_SECRET'];
/** iron-session and the kit refuse shorter ones too, but at the first request. */
const LEAST = { IDEMPOTENCY_SECRET: 32, SESSION_SECRET: 32 };

/** A sentence for every variable that is missing, can be guessed, or has two purposes; none when the app may start. */
export function complaints(env: Environment): string[] {
  const missing = (Object.keys(REQUIRED) as Name[])
    .filter((name) => valuesOf(name, env).length === 0)
    .map((name) => `${name} is not set. ${REQUIRED[name]}`);
  return [...missing, ...secretComplaints(env), ...paymentComplaints(env)];
}

/** A sentence for every secret that is set and can be guessed, or has two purposes. */
export function secretComplaints(env: Environment): string[] {
  const named = Object.fromEntries(SECRETS.map((name) => [name, valuesOf(name, env)]));
  return secretProblems(named, LEAST).map((words) => `${words} Make another one with: openssl rand -base64 32`);
}

/** The secrets that sign the shop's events: each signs, and its receiver knows any. Comma-separated while they rotate. */
export function eventSecrets(env: Environment = process.env): string[] {
  return listed(env.EVENTS_WEBHOOK_SECRET);
}

/** The secrets of which any may sign the payment provider's webhooks: two, comma-separated, while they are exchanged. */
export function paymentWebhookSecrets(): string[] {
  return listed(required('STRIPE_WEBHOOK_SECRET'));
}

/** A variable that must be there. Throws the sentence that says how to make it. */
export function required(name: Name): string {
  const value = process.env[name];
  if (!value) throw new Error(`${name} is not set. ${REQUIRED[name]}`);
  return value;
}

/** The secrets that sign keys: the first signs, all verify. None during a build, which needs none. */
export function idempotencySecrets(): string[] {
  return valuesOf('IDEMPOTENCY_SECRET', process.env);
}

/** Tells whether the browser came by https, also through a proxy that ends it. Decides about `Secure` on cookies alone. */
export function isHttps(headers: Headers): boolean {
  return headers.get('x-forwarded-proto')?.split(',')[0]?.trim() === 'https';
}

function valuesOf(name: string, env: Environment): string[] {
  const value = env[name];
  if (!value) return [];
  return LISTS.includes(name) ? listed(value) : [value];
}

/** Comma-separated while one takes the place of another. */
function listed(value = ''): string[] {
  return value.split(',').flatMap((each) => each.trim() || []);
}
