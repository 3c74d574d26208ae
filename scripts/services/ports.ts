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

/** Below the ports that systems choose by themselves for whoever connects or listens. */
const OWN = { first: 13_000, count: 19_000 };
/** Two processes that ask at once begin at different ones. */
const PORTS_OF_A_PROCESS = 64;
let asked = process.pid * PORTS_OF_A_PROCESS;

/** A port of 127.0.0.1 that nobody listens on, and that this process has not been given lately. */
export async function freePort(): Promise<number> {
  for (let tries = 0; tries < OWN.count; tries++) {
    const port = OWN.first + (asked++ % OWN.count);
    if (await isFree(port)) return port;
  }
  throw new Error(`All ports from ${OWN.first} to ${OWN.first + OWN.count - 1} of 127.0.0.1 are in use.`);
}

function isFree(port: number): Promise<boolean> {
  const probe = createServer();
  return new Promise((resolve) => {
    probe.once('error', () => resolve(false));
    probe.listen({ port, host: '127.0.0.1', exclusive: true }, () => probe.close(() => resolve(true)));
  });
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
