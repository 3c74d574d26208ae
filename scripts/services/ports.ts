import { createServer } from 'node:net';
import { setTimeout as wait } from 'node:timers/promises';

/** A port from the environment. Throws a sentence when it is none. */
export function portFrom(variable: string, fallback: number): number {
  const text = process.env[variable];
  if (!text) return fallback;
  const port = Number(text);
  if (Number.isInteger(port) && port > 0 && port < 65_536) return port;
  throw new Error(`${variable} is "${text}". It must be a port: a whole number from 1 to 65535.`);
}

/** Rejects with a sentence that names the port and its variable when somebody already listens there. */
export async function refuseTakenPort(port: number, host: string, variable: string): Promise<void> {
  await new Promise<void>((resolve, reject) => {
    const probe = createServer().once('error', reject);
    probe.listen({ port, host, exclusive: true }, () => probe.close(() => resolve()));
  }).catch((error: NodeJS.ErrnoException) => {
    if (error.code === 'EADDRINUSE') {
      throw new Error(`Port ${port} is in use. Stop what listens there, or choose another port with ${variable}.`);
    }
    throw new Error(`Cannot listen on ${host}:${port} (${error.code}). Choose another port with ${variable}.`);
  });
}

/** A port of 127.0.0.1 that was free a moment ago. */
export async function freePort(): Promise<number> {
  const probe = createServer();
  await new Promise<void>((resolve) => probe.listen(0, '127.0.0.1', resolve));
  const { port } = probe.address() as { port: number };
  await new Promise((resolve) => probe.close(resolve));
  return port;
}

/** Resolves when the server answers HTTP with anything at all. Rejects when `signal` aborts or time is up. */
export async function untilAnswering(
  url: string,
  { timeoutMs = 60_000, signal }: { timeoutMs?: number; signal: AbortSignal },
) {
  const deadline = Date.now() + timeoutMs;
  for (;;) {
    try {
      await fetch(url, { redirect: 'manual', signal: AbortSignal.any([signal, AbortSignal.timeout(timeoutMs)]) });
      return;
    } catch {
      signal.throwIfAborted();
      if (Date.now() > deadline) throw new Error(`${url} did not answer within ${timeoutMs / 1000} s.`);
      await wait(100, undefined, { signal });
    }
  }
}
