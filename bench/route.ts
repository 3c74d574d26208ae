import { randomUUID } from 'node:crypto';
import { testDatabase } from '../scripts/testing/test-database.ts';
import { postgresMeter, processMeter } from './cpu.ts';
import { orderOperation } from './order.ts';
import { median, type Report } from './report.ts';
import { interleaved, ratio, type Sample } from './rounds.ts';
import { serveNextApp, startLoader } from './route-server.ts';

const REQUESTS = 2000;
const CONNECTIONS = 16;

/**
 * A route handler and a server action of a production build under load, with the kit beside without it: the same
 * schema, the same order. The load comes from another process; the server's CPU is what the operating system counts.
 */
export async function route(): Promise<Report> {
  const { client, url, drop } = await testDatabase();
  const server = await serveNextApp(url);
  const loader = startLoader();
  const sent = async (status: number, request: () => string): Promise<Sample> => {
    const requests = Array.from({ length: REQUESTS }, request);
    const before = await client.order.count();
    const [cpu, postgres] = [processMeter(server.pid), postgresMeter()];
    const { seconds } = await loader.run({ port: server.port, connections: CONNECTIONS, requests, status });
    const sample = { perSecond: REQUESTS / seconds, cpuUs: cpu() / REQUESTS, postgresUs: postgres() / REQUESTS };
    const made = (await client.order.count()) - before;
    if (made !== REQUESTS) throw new Error(`${REQUESTS} requests made ${made} orders.`);
    return sample;
  };
  try {
    const [withKit, withoutKit] = await actionNames(server.port);
    const handler = (path: string, headers = {}) => post(server.port, path, { ...headers, ...JSON_TYPE }, { n: 1 });
    const action = (name: string, args: unknown[]) =>
      post(server.port, '/', { 'Next-Action': name, 'Content-Type': 'text/plain;charset=UTF-8' }, args);
    const { mintKey } = orderOperation(client);
    const plainRoute = () => sent(201, () => handler('/without-kit'));
    const plainAction = () => sent(200, () => action(withoutKit, [{ n: 1 }]));
    const samples = await interleaved({
      route: plainRoute,
      routeKit: () => sent(201, () => handler('/with-kit', { 'Idempotency-Key': randomUUID() })),
      routeAgain: plainRoute,
      action: plainAction,
      actionKit: async () => {
        const keys = await Promise.all(Array.from({ length: REQUESTS }, () => mintKey()));
        return sent(200, () => action(withKit, [{ n: 1 }, { key: keys.pop() }]));
      },
      actionAgain: plainAction,
    });
    const routes = { floor: [samples.route, samples.routeAgain], way: samples.routeKit } as const;
    const actions = { floor: [samples.action, samples.actionAgain], way: samples.actionKit } as const;
    const perSecond = (sample: Sample) => sample.perSecond;
    const cpu = (sample: Sample) => sample.cpuUs;
    return {
      name: 'A Next server with the kit, ratio to the same without',
      rows: [
        ratio({ figure: 'Next route handler with the kit, throughput', of: perSecond, ...routes, atLeast: 0.9 }),
        ratio({ figure: "route handler, server's CPU per request", of: cpu, ...routes }),
        ratio({ figure: 'Next server action with the kit, throughput', of: perSecond, ...actions }),
        ratio({ figure: "server action, server's CPU per request", of: cpu, ...actions }),
        { figure: 'route handler without, requests a second', value: median(samples.route.map(perSecond)).toFixed(0) },
        { figure: 'server action without, requests a second', value: median(samples.action.map(perSecond)).toFixed(0) },
      ],
    };
  } finally {
    loader.stop();
    await server.stop();
    await drop();
  }
}

const JSON_TYPE = { 'Content-Type': 'application/json' };

/** A whole HTTP request. The action's is what a browser sends that has JavaScript. */
function post(port: number, path: string, headers: Record<string, string>, body: unknown): string {
  const content = JSON.stringify(body);
  const all = { Host: `127.0.0.1:${port}`, ...headers, 'Content-Length': String(content.length) };
  const lines = Object.entries(all).map(([name, value]) => `${name}: ${value}\r\n`);
  return `POST ${path} HTTP/1.1\r\n${lines.join('')}\r\n${content}`;
}

/** Next's names of the page's two actions. */
async function actionNames(port: number): Promise<[withKit: string, withoutKit: string]> {
  const html = await (await fetch(`http://127.0.0.1:${port}/`)).text();
  const names = [...html.matchAll(/\$ACTION_ID_([0-9a-f]+)/g)].map(([, name]) => name);
  if (names.length !== 2) throw new Error(`The page has ${names.length} actions:\n${html}`);
  return names as [string, string];
}
