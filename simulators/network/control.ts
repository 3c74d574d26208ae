import type { IncomingMessage, ServerResponse } from 'node:http';
import { text } from 'node:stream/consumers';
import { FaultInputError, type FaultList, parseKeepAlive, parseRule } from './faults.ts';
import type { LateRequests } from './late.ts';
import type { RequestLog } from './request-log.ts';

export const CONTROL_PREFIX = '/__proxy/';

export interface Controlled {
  faults: FaultList;
  log: RequestLog;
  late: LateRequests;
  /** True if clients may reuse their connections. */
  keepAlive: boolean;
  canKillApp: boolean;
}

/** Answers a control request. Never rejects. */
export async function control(req: IncomingMessage, res: ServerResponse, state: Controlled): Promise<void> {
  try {
    if (!isLocal(req)) return send(res, 403, { error: 'The control API answers only to localhost and 127.0.0.1.' });
    const { pathname: path, searchParams } = new URL(req.url ?? '', 'http://proxy');
    const visitor = searchParams.get('visitor') ?? undefined;
    const handlers = routes(req, state, visitor)[path] ?? oneRule(path, state);
    if (!handlers) {
      return send(res, 404, { error: `There is no ${path}. Known: faults, faults/<id>, keepalive, log, release.` });
    }
    const handler = handlers[req.method ?? ''];
    if (!handler) return send(res, 405, { error: `${path} knows ${Object.keys(handlers).join(', ')}.` });
    const [status, body] = await handler();
    send(res, status, body);
  } catch (error) {
    if (error instanceof FaultInputError) return send(res, 400, { error: error.message });
    res.destroy(); // the request broke off
  }
}

type Handler = () => [status: number, body?: unknown] | Promise<[status: number, body?: unknown]>;

/** @param visitor `?visitor=…`: theirs alone is cleared, or shown */
function routes(req: IncomingMessage, state: Controlled, visitor?: string): Record<string, Record<string, Handler>> {
  return {
    '/__proxy/faults': {
      GET: () => [200, state.faults.list()],
      POST: async () => {
        const rule = parseRule(await json(req));
        if (rule.kind === 'kill-app' && !state.canKillApp) {
          throw new FaultInputError('"kill-app" is not possible here: start the proxy with APP_PID_FILE.');
        }
        return [201, state.faults.add(rule, Date.now())];
      },
      DELETE: () => {
        state.faults.clear(visitor);
        if (visitor !== undefined) return [204];
        state.log.clear();
        state.late.drop();
        return [204];
      },
    },
    '/__proxy/keepalive': {
      POST: async () => {
        state.keepAlive = parseKeepAlive(await json(req));
        return [200, { enabled: state.keepAlive }];
      },
    },
    '/__proxy/log': { GET: () => [200, state.log.list(visitor)] },
    '/__proxy/release': { POST: async () => [200, await state.late.release()] },
  };
}

/** Ending one rule leaves held back what it has held back: the client gets through again, its first request may follow. */
function oneRule(path: string, { faults }: Controlled): Record<string, Handler> | undefined {
  const [, id] = /^\/__proxy\/faults\/(\d+)$/.exec(path) ?? [];
  if (id === undefined) return undefined;
  return { DELETE: () => (faults.remove(Number(id)) ? [204] : [404, { error: `There is no rule ${id}.` }]) };
}

/**
 * Listening on 127.0.0.1 does not keep a web page out: its name may be rebound to 127.0.0.1 (then `Host` is that name),
 * and any page may post to localhost (then `Origin` is that page's). Only the pages that came through this proxy may.
 */
function isLocal(req: IncomingMessage): boolean {
  const { host = '', origin } = req.headers;
  if (!isLoopback(`http://${host}`)) return false;
  return origin === undefined || (URL.canParse(origin) && new URL(origin).host === new URL(`http://${host}`).host);
}

function isLoopback(url: string): boolean {
  return URL.canParse(url) && ['localhost', '127.0.0.1', '[::1]'].includes(new URL(url).hostname);
}

async function json(req: IncomingMessage): Promise<unknown> {
  const body = await text(req);
  try {
    return JSON.parse(body);
  } catch {
    throw new FaultInputError('The body must be JSON.');
  }
}

function send(res: ServerResponse, status: number, body?: unknown): void {
  if (body === undefined) return void res.writeHead(status).end();
  res.writeHead(status, { 'Content-Type': 'application/json' }).end(`${JSON.stringify(body)}\n`);
}
