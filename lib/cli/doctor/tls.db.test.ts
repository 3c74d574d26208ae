import { execFileSync } from 'node:child_process';
import { once } from 'node:events';
import { mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { type AddressInfo, connect, createServer, type Server, type Socket } from 'node:net';
import { hostname, tmpdir } from 'node:os';
import path from 'node:path';
import { TLSSocket } from 'node:tls';
import pg from 'pg';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { type TestDatabase, testDatabase } from '../../../scripts/testing/test-database.ts';
import { ignoreWarning } from '../../../scripts/testing/warnings.ts';
import { withDatabase } from '../database.ts';
import { checkTls } from './server.ts';

/** A name of this machine that does not say so. */
const HOST = hostname();
/** The first message of a client of PostgreSQL that wants TLS. */
const SSL_REQUEST = Buffer.from('0000000804d2162f', 'hex');

let database: TestDatabase;
let proxy: Server;
let folder: string;
const open = new Set<Socket>();
beforeAll(async () => {
  database = await testDatabase();
  folder = mkdtempSync(path.join(tmpdir(), 'oncekit-tls-'));
  const at = (file: string) => path.join(folder, file);
  const made = `req -x509 -newkey rsa:2048 -nodes -days 1 -subj /CN=${HOST} -addext subjectAltName=DNS:${HOST} -keyout ${at('key')} -out ${at('cert')}`;
  execFileSync('openssl', made.split(' '), { stdio: 'ignore' });
  const [key, cert] = [readFileSync(at('key')), readFileSync(at('cert'))];
  const { port, hostname: host } = new URL(database.url);
  // The real PostgreSQL, with TLS in front of it for those who ask for it.
  proxy = createServer(async (plain) => {
    open.add(plain.on('error', () => {}));
    const server = connect(Number(port), host).on('error', () => {});
    open.add(server);
    const [first] = (await once(plain, 'data')) as [Buffer];
    const wantsTls = first.equals(SSL_REQUEST);
    if (wantsTls) plain.write('S');
    else server.write(first);
    const client = wantsTls ? new TLSSocket(plain, { isServer: true, key, cert }).on('error', () => {}) : plain;
    client.pipe(server).pipe(client);
  });
  await once(proxy.listen(0), 'listening');
});
afterAll(async () => {
  for (const socket of open) socket.destroy();
  proxy?.close();
  rmSync(folder, { recursive: true, force: true });
  await database?.drop();
});

async function look(query: Record<string, string>, host = HOST) {
  const url = new URL(database.url);
  url.host = `${host}:${(proxy.address() as AddressInfo).port}`;
  for (const [name, value] of Object.entries(query)) url.searchParams.set(name, value);
  return await withDatabase(url.href, async (sql) => checkTls(sql, url.href));
}

test('a database on this machine needs none', async () => {
  expect(await look({}, '127.0.0.1')).toMatchObject({ level: 'ok', says: expect.stringContaining('on this machine') });
  for (const host of ['/var/run/postgresql', 'localhost', '::1']) {
    expect(checkTls(new pg.Client({ host }), 'postgresql:///shop'), host).toMatchObject({ level: 'ok' });
  }
});

test('elsewhere: plain text is found, and so is a certificate that nobody checks', async () => {
  expect(await look({})).toMatchObject({
    check: 'TLS',
    level: 'warning',
    says: expect.stringMatching(/passes the network in plain text/),
    fix: expect.stringContaining('sslmode=verify-full'),
  });
  expect(await look({ sslmode: 'no-verify' })).toMatchObject({
    level: 'warning',
    says: expect.stringMatching(/is encrypted, but nobody checks/),
  });
});

test('a server that proves its name is well, and a mode that says less is told', async () => {
  const sslrootcert = path.join(folder, 'cert');
  const full = await look({ sslmode: 'verify-full', sslrootcert });
  expect(full).toMatchObject({ level: 'ok', says: 'The connection is encrypted, and the server proves its name.' });
  // `pg` warns of this mode, too.
  ignoreWarning(/^SECURITY WARNING: The SSL modes 'prefer', 'require'/);
  const { level, says } = await look({ sslmode: 'require', sslrootcert });
  expect([level, says]).toEqual(['ok', expect.stringContaining('sslmode=require says less')]);
});

test('a certificate of nobody’s is no connection at all, and says so', async () => {
  await expect(look({ sslmode: 'verify-full' })).rejects.toMatchObject({
    message: expect.stringContaining('self-signed certificate'),
    fix: "Add sslrootcert=<the file of the authority's certificate> to DATABASE_URL.",
  });
});
