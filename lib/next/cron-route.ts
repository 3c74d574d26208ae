import { createHash, timingSafeEqual } from 'node:crypto';
import { assertKnownOptions, optionNames } from '../core/options.ts';
import { refuse } from '../core/outcome.ts';
import { assertOnePurpose, assertStrong } from '../core/secret-strength.ts';
import { problemResponse } from '../http/problem.ts';
import { type Driven, NEEDS, PASSES } from '../worker/passes.ts';

const OPTION = 'cronRoute({ secret })';
const NEEDS_SECRET = 'This needs the cron secret: Authorization: Bearer …';

type Handler = (request: Request) => Promise<Response>;

/** The callers of the route, and how long one call begins something. */
export interface CronRouteOptions {
  /**
   * The secret that the caller must know. Without one the route is closed, not open. At least 16 characters, and no secret of
   * another purpose.
   */
  secret: string | undefined;
  /**
   * How long one call may begin something, in milliseconds; the next one does the rest. What has begun goes on: leave it time within
   * what your host allows a request. Default 10,000.
   */
  maxMs?: number;
  log?: (line: string) => void;
}

const OPTIONS = optionNames<CronRouteOptions>()('secret maxMs log');

/**
 * Runs a task of the worker once, for hosts that have a clock and no processes (`vercel.json`, `pg_cron`, crontab with
 * curl). For `app/api/cron/[task]/route.ts`; the tasks are those of `PASSES`. Nobody gets in without
 * `Authorization: Bearer <secret>`, and without a secret nobody at all. Safe beside workers and beside itself.
 *
 * @throws ConfigurationError in production, for a secret that can be guessed or that has another purpose as well
 */
export function cronRoute(idempotency: Driven, options: CronRouteOptions): { GET: Handler; POST: Handler } {
  assertKnownOptions('cronRoute', options, OPTIONS);
  const { secret, maxMs = 10_000, log = console.error } = options;
  if (secret) {
    assertStrong(OPTION, secret);
    assertOnePurpose(OPTION, secret);
  }
  const handler = async (request: Request) => {
    if (!secret) log('The cron route is closed: no secret is configured.');
    const problem = (code: 'unauthorized' | 'not_found' | 'unavailable', words?: { message: string }) =>
      problemResponse(refuse(code, words), request, { errorPages: idempotency.errorPages });
    if (!secret || !knows(request, secret)) return problem('unauthorized', { message: NEEDS_SECRET });
    const task = new URL(request.url).pathname.split('/').filter(Boolean).at(-1) ?? '';
    const run = Object.hasOwn(PASSES, task) ? PASSES[task] : undefined;
    if (!run) return problem('not_found');
    const box = NEEDS[task];
    if (box && !idempotency[box]) {
      const missing = `The cron route was given no ${box}. Write: cronRoute({ ...idempotency, ${box} }, { … })`;
      log(missing);
      return problem('not_found', { message: missing });
    }
    try {
      const figures = await run(idempotency, { until: AbortSignal.timeout(maxMs) });
      return Response.json({ task, ...figures }, { headers: { 'Cache-Control': 'no-store' } });
    } catch (error) {
      log(`The cron task ${task} failed: ${error instanceof Error ? error.message : error}`);
      return problem('unavailable');
    }
  };
  return { GET: handler, POST: handler };
}

/** Compares digests: how long it takes says nothing about the secret, nor about its length. */
function knows(request: Request, secret: string): boolean {
  const [, given] = /^bearer +(\S+) *$/i.exec(request.headers.get('authorization') ?? '') ?? [];
  const digest = (text: string) => createHash('sha256').update(text).digest();
  return given !== undefined && timingSafeEqual(digest(given), digest(secret));
}
