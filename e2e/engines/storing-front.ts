import { createServer, request } from 'node:http';
import type { AddressInfo } from 'node:net';

/** In front of the network: lets browsers keep what Next forbids them to. */
export interface StoringFront {
  url: string;
  close(): Promise<void>;
}

/**
 * Takes `no-store` out of every answer, as some networks do on the way. A browser then gives back what stood in a form, and
 * keeps pages to go back to. `Host` stays as the browser sent it: Next compares it with `Origin`.
 */
export async function startStoringFront(target: string): Promise<StoringFront> {
  const server = createServer((req, res) => {
    const { method, headers, url = '/' } = req;
    const out = request(new URL(url, target), { method, headers, agent: false }, (answer) => {
      const isForbidden = answer.headers['cache-control']?.includes('no-store');
      const kept = isForbidden ? { ...answer.headers, 'cache-control': 'no-cache' } : answer.headers;
      res.writeHead(answer.statusCode ?? 502, kept);
      answer.pipe(res);
    });
    out.on('error', () => res.destroy());
    req.pipe(out);
  });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  return {
    url: `http://127.0.0.1:${(server.address() as AddressInfo).port}`,
    close: () =>
      new Promise((resolve) => {
        server.close(() => resolve());
        server.closeAllConnections();
      }),
  };
}
