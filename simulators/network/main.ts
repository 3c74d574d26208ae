/**
 * Starts the fault proxy as a process, on PROXY_PORT, in front of the app at APP_HOST and PORT. It kills the app by the
 * process group in APP_PID_FILE. SIGTERM ends it.
 */
import { readFile } from 'node:fs/promises';
import { startFaultProxy } from './fault-proxy.ts';

const appPort = Number(process.env.PORT ?? 3000);
const pidFile = process.env.APP_PID_FILE;
const proxy = await startFaultProxy({
  port: Number(process.env.PROXY_PORT ?? appPort + 1),
  target: `http://${process.env.APP_HOST || '127.0.0.1'}:${appPort}`,
  ...(pidFile ? { onKillApp: () => killByPidFile(pidFile) } : {}),
});
console.log(`Fault proxy on ${proxy.url}, in front of port ${appPort}`);
for (const signal of ['SIGINT', 'SIGTERM'] as const) process.once(signal, () => void proxy.close());

/** Kills the app, and the processes it started, by the process group whose id a supervisor wrote into a file. */
async function killByPidFile(file: string): Promise<void> {
  const pid = Number(await readFile(file, 'utf8').catch(() => ''));
  // 0 and 1 would mean our own group and every process there is.
  if (!Number.isInteger(pid) || pid < 2) return console.error(`kill-app: ${file} names no running app.`);
  try {
    process.kill(-pid, 'SIGKILL');
  } catch {
    console.error(`kill-app: there is no process group ${pid} any more.`);
  }
}
