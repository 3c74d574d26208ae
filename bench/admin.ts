import { buildApp } from '../scripts/services/build-app.ts';
import { freePort, untilAnswering } from '../scripts/services/ports.ts';
import { spawnChild } from '../scripts/services/process.ts';
import { testDatabase } from '../scripts/testing/test-database.ts';
import { median, type Report } from './report.ts';
import { interleaved, ratio } from './rounds.ts';

const FEW = 100;
const MANY = 100_000;
/** Page views in one sample. */
const VIEWS = 20;
const SECRETS = {
  IDEMPOTENCY_SECRET: 'bench-idempotency-secret-of-32-characters',
  SESSION_SECRET: 'bench-session-secret-of-32-characters-or-so',
  ADMIN_PASSWORD: 'bench-admin-password',
  CRON_SECRET: 'bench-cron-secret-of-32-characters-or-more',
  METRICS_TOKEN: 'bench-metrics-token',
  STRIPE_SECRET_KEY: 'sk_test_bench',
  STRIPE_WEBHOOK_SECRET: 'whsec_bench-of-the-payment-provider',
  EVENTS_WEBHOOK_SECRET: `whsec_${Buffer.from('bench-secret-of-the-shop-for-events').toString('base64')}`,
};

/**
 * The wait of an admin for /admin/keys: the demo's production build, once on a database with a
 * hundred keys and once with a hundred thousand, its tables analyzed, as autovacuum leaves them. Either has some forty
 * that are stuck, so that both pages are as long. The whole answer, since nothing of it is sent ahead of its data.
 */
export async function admin(): Promise<Report> {
  await buildApp();
  const few = await shopWith(FEW);
  const many = await shopWith(MANY);
  try {
    const samples = await interleaved({
      few: () => view(few, '/admin/keys'),
      many: () => view(many, '/admin/keys'),
      fewAgain: () => view(few, '/admin/keys'),
      stuckFew: () => view(few, '/admin/keys?stuck=1'),
      stuckMany: () => view(many, '/admin/keys?stuck=1'),
      stuckFewAgain: () => view(few, '/admin/keys?stuck=1'),
    });
    const ms = (sample: number) => sample;
    const all = { floor: [samples.few, samples.fewAgain], way: samples.many } as const;
    const stuck = { floor: [samples.stuckFew, samples.stuckFewAgain], way: samples.stuckMany } as const;
    return {
      name: `The admin view's list with ${MANY.toLocaleString('en')} keys, ratio to the same page with ${FEW}`,
      rows: [
        ratio({ figure: '/admin/keys, time to the whole page', of: ms, ...all, atMost: 1.5 }),
        ratio({ figure: '/admin/keys?stuck=1, time to the whole page', of: ms, ...stuck, atMost: 1.5 }),
        { figure: `with ${FEW} keys, ms`, value: median(samples.few).toFixed(1) },
        { figure: `with ${MANY.toLocaleString('en')} keys, ms`, value: median(samples.many).toFixed(1) },
      ],
    };
  } finally {
    await few.stop();
    await many.stop();
  }
}

interface Shop {
  url: string;
  cookie: string;
  stop(): Promise<void>;
}

async function shopWith(keys: number): Promise<Shop> {
  const { client, url: database, drop } = await testDatabase();
  await client.$executeRaw`
    INSERT INTO idempotency_keys
      (tenant, principal, operation, key, state, fingerprint, fingerprint_version, secret_id, result, claimed_at,
       settled_at, expires_at, lease_until, next_attempt_at)
    SELECT 'shop', 'shopper-' || n % 5000, (ARRAY['checkout', 'refund', 'orders.create'])[n % 3 + 1],
           gen_random_uuid(), state, sha256(n::text::bytea), 1, 'abc',
           CASE WHEN is_open THEN NULL ELSE repeat('answer', 30) END, at, CASE WHEN is_open THEN NULL ELSE at END,
           at + interval '31 days', CASE WHEN is_open THEN now() END, CASE WHEN is_open THEN now() END
      FROM generate_series(1, ${keys}::int) n,
           LATERAL (SELECT CASE WHEN n % (${keys}::int / 40) = 0 THEN 'in_progress'
                                WHEN n % 50 = 2 THEN 'failed' ELSE 'succeeded' END AS state) s,
           LATERAL (SELECT state = 'in_progress' AS is_open,
                           now() - (${keys}::int - n) * interval '25 s' AS at) o`;
  await client.$executeRaw`ANALYZE`;
  const port = await freePort();
  const lines: string[] = [];
  const server = spawnChild({
    name: 'next start',
    command: process.execPath,
    args: ['node_modules/next/dist/bin/next', 'start', '-H', '127.0.0.1', '-p', String(port)],
    env: { ...SECRETS, DATABASE_URL: database, NODE_ENV: 'production', NEXT_TELEMETRY_DISABLED: '1' },
    onLine: (line) => lines.push(line),
    log: () => {},
  });
  const url = `http://127.0.0.1:${port}`;
  const signal = new AbortController();
  void server.ended.then(() => signal.abort(new Error(`next start ended:\n${lines.join('\n')}`)));
  await untilAnswering(`${url}/api/health`, { signal: signal.signal });
  const stop = async () => {
    await server.stop();
    await drop();
  };
  return { url, cookie: await signIn(url), stop };
}

/** As a browser without JavaScript does it: the form's own fields, and the password. */
async function signIn(url: string): Promise<string> {
  const page = await fetch(`${url}/admin/sign-in`);
  const html = await page.text();
  const form = new FormData();
  for (const [field] of html.matchAll(/<input[^>]*type="hidden"[^>]*>/g)) {
    const read = (name: string) => new RegExp(`${name}="([^"]*)"`).exec(field)?.[1] ?? '';
    form.append(read('name'), read('value').replaceAll('&quot;', '"').replaceAll('&amp;', '&'));
  }
  form.append('password', SECRETS.ADMIN_PASSWORD);
  const answer = await fetch(`${url}/admin/sign-in`, {
    method: 'POST',
    body: form,
    redirect: 'manual',
    headers: { Origin: url },
  });
  const cookie = [...page.headers.getSetCookie(), ...answer.headers.getSetCookie()].map((one) => one.split(';')[0]);
  if (answer.status !== 303) throw new Error(`Signing in answered ${answer.status}:\n${html}`);
  return cookie.join('; ');
}

/** How long one view of a page took, in milliseconds: the median of some, one after the other. */
async function view({ url, cookie }: Shop, path: string): Promise<number> {
  const took: number[] = [];
  for (let n = 0; n < VIEWS; n++) {
    const started = performance.now();
    const answer = await fetch(`${url}${path}`, { headers: { Cookie: cookie }, redirect: 'manual' });
    const html = await answer.text();
    took.push(performance.now() - started);
    if (answer.status !== 200 || !html.includes('</html>')) throw new Error(`${path} answered ${answer.status}`);
  }
  return median(took);
}
