import { createServer, type IncomingMessage } from 'node:http';
import type { AddressInfo } from 'node:net';
import type { Duplex } from 'node:stream';
import { CONTROL_PREFIX, type Controlled, control } from './control.ts';
import { FaultList, visitorOf } from './faults.ts';
import { tunnel } from './forward.ts';
import { LateRequests } from './late.ts';
import { play } from './play.ts';
import { RequestLog } from './request-log.ts';

export interface FaultProxyOptions {
  /** 0 takes a free port. */
  port: number;
  /** Where the app is, e.g. `http://127.0.0.1:3000`. */
  target: string;
  /** Kills the app for a `kill-app` fault; without it such a rule is refused. */
  onKillApp?: () => void | Promise<void>;
}

export interface FaultProxy {
  url: string;
  port: number;
  /** Breaks every open connection and gives up what is being held back. */
  close(): Promise<void>;
}

/**
 * Starts a proxy on 127.0.0.1 that loses, delays and refuses requests on demand (`/__proxy/faults`) and writes down what
 * it did (`/__proxy/log`). What a `late-request` fault holds back arrives on `POST /__proxy/release`. Without a matching
 * rule it is transparent. Rejects when the port is taken.
 */
export async function startFaultProxy({ port, target, onKillApp }: FaultProxyOptions): Promise<FaultProxy> {
  const app = new URL(target);
  const closing = new AbortController();
  const tunnels = new Set<Duplex>();
  const killApp = () => onKillApp?.();
  const state: Controlled = {
    faults: new FaultList(),
    log: new RequestLog(),
    late: new LateRequests(),
    keepAlive: true,
    canKillApp: onKillApp !== undefined,
  };

  const server = createServer((req, res) => {
    if (req.url?.startsWith(CONTROL_PREFIX)) return void control(req, res, state);
    const visitor = visitorOf(req.headers.cookie);
    const rule = state.faults.take(req.method ?? 'GET', pathname(req), { visitor, now: Date.now() });
    const entry = state.log.open(req, rule?.kind ?? null);
    const closeAfter = !state.keepAlive || rule?.keepAlive === false;
    const { late } = state;
    void play({ req, res, entry, target: app, closeAfter, closing: closing.signal, killApp, late }, rule);
  });
  server.on('upgrade', (req, socket, head) => {
    state.log.open(req, null).outcome = 'tunnelled';
    tunnels.add(socket.once('close', () => tunnels.delete(socket)));
    tunnel(req, socket, head, app);
  });
  // Long enough for a browser's connections to stay warm: only a reused one makes it re-send a POST by itself.
  server.keepAliveTimeout = 65_000;
  server.headersTimeout = 66_000;

  await new Promise<void>((resolve, reject) => {
    server.once('error', reject).listen(port, '127.0.0.1', resolve);
  });
  const listening = (server.address() as AddressInfo).port;
  return {
    url: `http://127.0.0.1:${listening}`,
    port: listening,
    close: () =>
      new Promise((resolve) => {
        server.close(() => resolve());
        closing.abort();
        state.late.drop();
        for (const socket of tunnels) socket.destroy();
        server.closeAllConnections();
      }),
  };
}

function pathname(req: IncomingMessage): string {
  return (req.url ?? '/').split('?')[0] ?? '/';
}
