import { once } from 'node:events';
import { Agent, createServer, type IncomingMessage, request, type Server, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import { text } from 'node:stream/consumers';
import { afterEach, beforeEach, expect, vi } from 'vitest';
import { type FaultProxy, startFaultProxy } from './fault-proxy.ts';
import type { LogEntry } from './request-log.ts';

interface Ask {
  method?: string;
  headers?: Record<string, string>;
  body?: string;
  agent?: Agent;
}

/** The start of each test of the proxy: a real app on loopback and a proxy in front of it. */
export const bed = {
  app: undefined as unknown as Server,
  proxy: undefined as unknown as FaultProxy,
  /** How the app answers. */
  answer: (_req: IncomingMessage, _res: ServerResponse): void => {},
  /** Requests that reached the app. */
  arrived: [] as { method?: string; url?: string; host?: string; body: string; at: number }[],
  onKillApp: vi.fn<() => void>(),
};

export function useBed(): void {
  beforeEach(async () => {
    bed.arrived = [];
    bed.answer = (_, res) => res.writeHead(201, ['Set-Cookie', 'a=1', 'Set-Cookie', 'b=2']).end('placed');
    bed.app = createServer(async (req, res) => {
      const body = await text(req).catch(() => '(broken off)');
      bed.arrived.push({ method: req.method, url: req.url, host: req.headers.host, body, at: Date.now() });
      bed.answer(req, res);
    });
    await once(bed.app.listen(0, '127.0.0.1'), 'listening');
    bed.onKillApp.mockReset();
    const target = `http://127.0.0.1:${appPort()}`;
    bed.proxy = await startFaultProxy({ port: 0, target, onKillApp: bed.onKillApp });
  });

  afterEach(async () => {
    await bed.proxy.close();
    bed.app.closeAllConnections();
    bed.app.close();
  });
}

export const appPort = () => (bed.app.address() as AddressInfo).port;

/** Each request on a connection of its own, unless an agent is given. */
export async function ask(path: string, { method = 'GET', headers, body, agent }: Ask = {}) {
  const out = request(bed.proxy.url + path, { method, headers, agent: agent ?? new Agent() }).end(body);
  const [res] = (await once(out, 'response')) as [IncomingMessage];
  return { status: res.statusCode, headers: res.headers, body: await text(res) };
}

export const post = (path: string, body = 'sku=1', agent?: Agent) => ask(path, { method: 'POST', body, agent });

export const log = async (): Promise<LogEntry[]> => JSON.parse((await ask('/__proxy/log')).body);

export async function plan(rule: Record<string, unknown>): Promise<void> {
  expect((await ask('/__proxy/faults', { method: 'POST', body: JSON.stringify(rule) })).status).toBe(201);
}
