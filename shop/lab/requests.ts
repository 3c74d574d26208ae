import type { Principal } from 'oncekit';
import { readBody } from 'oncekit/next';
import { z } from 'zod';
import { bodyOf } from '../api/body.ts';
import { answered } from '../api/route.ts';
import { refusal } from '../payments/webhook-request.ts';
import { currentPrincipal } from '../session/visitor.ts';
import { planCrash } from './crash.ts';
import { placePlainOrder } from './order.ts';
import { findPreset } from './presets.ts';
import { prove } from './proof.ts';
import { isLabOpen } from './proxy.ts';
import { reportOf } from './report.ts';
import { beginRun, currentRun } from './run.ts';
import { parkSession } from './session.ts';

const MAX_FORM_BYTES = 10_000;

type Answer = (request: Request, who: Principal) => Promise<Response>;

/**
 * A route of the lab's: 404 where the demo's faults are not switched on, 403 for whoever comes from another page or
 * another machine, 401 for nobody. What it breaks, it breaks for the visitor who asked.
 */
function labRoute(answer: Answer) {
  return (request: Request): Promise<Response> =>
    answered(request, async () => {
      if (!isLabOpen()) return refusal(404, 'There is no lab here.');
      if (!isOwnPage(request)) return refusal(403, "The lab answers to its own page alone, on the demo's own machine.");
      const who = await currentPrincipal();
      return who ? await answer(request, who) : refusal(401, 'Please reload the page.');
    });
}

const start = z.object({ preset: z.string(), key: z.string().max(255) });
const turn = z.object({ is: z.enum(['expired', 'restored']) });

/** `POST /api/lab/run`: begins a run, with the crash that its preset asks for. */
export const startRun = labRoute(async (request) => {
  const asked = await bodyOf(request, start);
  if ('refused' in asked) return asked.refused;
  const { key, preset: slug } = asked.body;
  const preset = findPreset(slug);
  if (!preset) return refusal(400, 'There is no such preset.');
  const run = await beginRun(preset.slug);
  if (preset.crash) planCrash({ run: run.id, key, point: preset.crash });
  return Response.json({ run: run.id });
});

/** `GET /api/lab/run`: what has come of the visitor's run so far. */
export const showRun = labRoute(async (_, who) => Response.json(await reportOf(who, await currentRun())));

/** `POST /api/lab/session`: ends the visitor's session, or gives it back. */
export const turnSession = labRoute(async (request) => {
  const asked = await bodyOf(request, turn);
  if ('refused' in asked) return asked.refused;
  await parkSession(asked.body.is === 'expired');
  return new Response(null, { status: 204 });
});

/** `POST /api/lab/prove`: fifty posts with one key, and what the database holds then. */
export const proveOnce = labRoute(async (request, who) =>
  Response.json(await prove(who, request.headers.get('cookie') ?? '')),
);

/**
 * `POST /api/lab/plain`: the order form without the kit, as an ordinary endpoint has it. A form that was sent without
 * JavaScript goes back to its page.
 */
export async function orderPlainly(request: Request): Promise<Response> {
  return await answered(request, async () => {
    if (!isLabOpen()) return refusal(404, 'There is no lab here.');
    const who = await currentPrincipal();
    // Without a length it may be of any.
    const length = request.headers.get('content-length');
    if (length === null || !(Number(length) <= MAX_FORM_BYTES)) return refusal(413, 'This form is too large.');
    const form = await readBody(request).catch(() => undefined);
    if (!(form instanceof FormData)) return refusal(400, 'This is no form.');
    const result = await placePlainOrder(who, form, { run: (await currentRun())?.id });
    if (request.headers.get('accept')?.includes('application/json')) return Response.json(result);
    const preset = findPreset(String(form.get('preset')));
    return new Response(null, { status: 303, headers: { Location: preset ? `/lab/${preset.slug}` : '/lab' } });
  });
}

/**
 * Tells whether the lab's own page has sent it, opened on the demo's own machine. A page elsewhere may have a browser send
 * anything, but not these headers; and a name that was rebound to this machine is no loopback name.
 */
function isOwnPage({ method, headers }: Request): boolean {
  const host = `http://${headers.get('host') ?? ''}`;
  if (!URL.canParse(host) || !['localhost', '127.0.0.1', '[::1]'].includes(new URL(host).hostname)) return false;
  const site = headers.get('sec-fetch-site');
  if (site !== null) return site === 'same-origin';
  const origin = headers.get('origin');
  if (origin === null) return method === 'GET';
  return URL.canParse(origin) && new URL(origin).host === new URL(host).host;
}
