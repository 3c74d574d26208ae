import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { Agent } from 'node:http';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { createInterface } from 'node:readline';
import { describe, expect, test } from 'vitest';
import { startFaultProxy } from './fault-proxy.ts';
import { appPort, ask, bed, log, plan, post, useBed } from './testbed.ts';

useBed();

const reuse = (enabled: boolean) => ask('/__proxy/keepalive', { method: 'POST', body: JSON.stringify({ enabled }) });

describe('connections', () => {
  test('the log tells a reused connection from a new one; the switch ends reuse', async () => {
    const agent = new Agent({ keepAlive: true, maxSockets: 1 });
    await post('/1', '', agent);
    await post('/2', '', agent);
    await reuse(false);
    expect((await post('/3', '', agent)).headers.connection).toBe('close');
    expect((await post('/4', '', agent)).headers.connection).toBe('close');
    await reuse(true);
    expect((await post('/5', '', agent)).headers.connection).toBe('keep-alive');
    const seen = (await log()).map(({ connection, onConnection }) => [connection, onConnection]);
    const [a, b, c] = [seen[0]?.[0], seen[3]?.[0], seen[4]?.[0]];
    expect(new Set([a, b, c]).size).toBe(3);
    expect(seen).toEqual([
      [a, 1],
      [a, 2],
      [a, 3],
      [b, 1],
      [c, 1],
    ]);
    agent.destroy();
  });

  test('a rule with keepAlive false ends the connection of the requests it hits', async () => {
    const agent = new Agent({ keepAlive: true });
    await plan({ kind: 'delay', keepAlive: false });
    expect((await post('/1', '', agent)).headers.connection).toBe('close');
    expect((await post('/2', '', agent)).headers.connection).toBe('keep-alive');
    agent.destroy();
  });
});

test("the log says when the app had the request and when it answered; one visitor's can be asked for alone", async () => {
  await ask('/1', { headers: { Cookie: 'oncekit_lab=ada' } });
  await plan({ kind: 'lose-request' });
  await ask('/2').catch(() => {});
  bed.app.close();
  await ask('/3');
  const [first, lost, down] = await log();
  expect([first?.at, first?.atAppAt, first?.fromAppAt, first?.overAt]).toEqual(
    [first?.at, first?.atAppAt, first?.fromAppAt, first?.overAt].toSorted(),
  );
  expect(first?.atAppAt).not.toBeNull();
  expect(lost).toMatchObject({ atAppAt: null, fromAppAt: null, overAt: expect.any(String) });
  expect(down).toMatchObject({ outcome: 'app-down', atAppAt: null });
  const hers = JSON.parse((await ask('/__proxy/log?visitor=ada')).body);
  expect(hers).toMatchObject([{ path: '/1', visitor: 'ada' }]);
});

describe('the control API refuses', () => {
  const rule = JSON.stringify({ kind: 'status' });

  test.each([
    ['another Host (a rebound name)', { headers: { Host: 'evil.example' } }, 403],
    ['a page of another origin', { headers: { Origin: 'https://evil.example' } }, 403],
    ['a page of another server on this machine', { headers: { Origin: 'http://localhost:1' } }, 403],
    ['an opaque origin', { headers: { Origin: 'null' } }, 403],
    ['what is no JSON', { body: '{' }, 400],
    ['what is no rule', { body: '{"kind":"explode"}' }, 400],
    ['another method', { method: 'PUT' }, 405],
  ])('%s', async (_, refused, status) => {
    const res = await ask('/__proxy/faults', { method: 'POST', body: rule, ...refused });
    expect(res.status).toBe(status);
    expect(JSON.parse(res.body).error).toMatch(/^.+\.$/);
    expect((await ask('/__proxy/faults')).body.trim()).toBe('[]');
  });

  test('an unknown path', async () => {
    expect((await ask('/__proxy/nothing')).status).toBe(404);
    expect(bed.arrived).toEqual([]);
  });

  test('kill-app where nobody can kill the app', async () => {
    const harmless = await startFaultProxy({ port: 0, target: `http://127.0.0.1:${appPort()}` });
    const res = await fetch(`${harmless.url}/__proxy/faults`, { method: 'POST', body: '{"kind":"kill-app"}' });
    expect(res.status).toBe(400);
    expect((await res.json()).error).toContain('APP_PID_FILE');
    await harmless.close();
  });

  test('but not a page that came through the proxy', async () => {
    const headers = { Host: 'localhost:3001', Origin: 'http://localhost:3001' };
    expect((await ask('/__proxy/faults', { method: 'POST', body: rule, headers })).status).toBe(201);
  });

  test('but answers to localhost by any of its names', async () => {
    for (const Host of ['localhost:3001', '127.0.0.1', '[::1]:9']) {
      expect((await ask('/__proxy/faults', { headers: { Host } })).status).toBe(200);
    }
  });
});

test('as a process of its own it kills the app named in APP_PID_FILE, and ends on SIGTERM', async () => {
  const folder = await mkdtemp(join(tmpdir(), 'fault-proxy-'));
  const victim = spawn(process.execPath, ['-e', 'setInterval(() => {}, 1000)'], { detached: true });
  const pidFile = join(folder, 'app.pid');
  await writeFile(pidFile, `${victim.pid}\n`);
  const env = { ...process.env, PORT: String(appPort()), PROXY_PORT: '0', APP_PID_FILE: pidFile };
  const child: ChildProcess = spawn(process.execPath, ['--import', 'tsx', 'simulators/network/main.ts'], { env });
  try {
    if (!child.stdout) throw new Error('no standard output');
    const [line] = await once(createInterface(child.stdout), 'line');
    const url = /http:\S+?(?=,)/.exec(line)?.[0];
    await fetch(`${url}/__proxy/faults`, { method: 'POST', body: '{"kind":"kill-app"}' });
    const died = once(victim, 'exit');
    await fetch(`${url}/checkout`).catch(() => {});
    expect(await died).toEqual([null, 'SIGKILL']);
    const ended = once(child, 'exit');
    child.kill('SIGTERM');
    expect(await ended).toEqual([0, null]);
  } finally {
    child.kill('SIGKILL');
    victim.kill('SIGKILL');
    await rm(folder, { recursive: true });
  }
});
