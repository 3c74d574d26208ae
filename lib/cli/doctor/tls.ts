import { isIPv4 } from 'node:net';
import type pg from 'pg';
import { checkNamed, type Finding } from './finding.ts';

const PAGE = 'docs/database-tls.md';

/** Checks that nobody on the network can read the database's traffic, or answer in its place. */
export function checkTls(sql: pg.Client, url: string): Finding {
  const check = checkNamed('TLS');
  if (isOnThisMachine(sql.host)) return check.ok('The database is on this machine: nothing passes a network.');
  const { encrypted = false, authorized = false } = socketOf(sql);
  if (!encrypted) {
    return check.warning(
      `What the database at ${sql.host} is told passes the network in plain text: its password and stored answers, too.`,
      `Add sslmode=verify-full to DATABASE_URL: ${PAGE}.`,
    );
  }
  if (!authorized) {
    return check.warning(
      `The connection to ${sql.host} is encrypted, but nobody checks whose certificate it is.`,
      `Write sslmode=verify-full in DATABASE_URL, and the provider's certificate in sslrootcert: ${PAGE}.`,
    );
  }
  const mode = modeOf(url);
  if (mode === 'verify-full') return check.ok('The connection is encrypted, and the server proves its name.');
  return check.ok(
    `The connection is encrypted, and the server proves its name. sslmode=${mode} says less: later versions of pg will not check it.`,
  );
}

interface TlsState {
  /** Missing on a socket without TLS. */
  encrypted?: boolean;
  /** Its certificate was checked, and was found to be good. */
  authorized?: boolean;
}

/** Reads the socket, not the URL: `ssl` may be set elsewhere. */
function socketOf(sql: pg.Client): TlsState {
  return (sql as unknown as { connection?: { stream?: TlsState } }).connection?.stream ?? {};
}

/** By a socket of the file system, or by an address that no other machine has. */
export function isOnThisMachine(host: string): boolean {
  return host.startsWith('/') || host === 'localhost' || host === '::1' || (isIPv4(host) && host.startsWith('127.'));
}

function modeOf(url: string): string {
  return (URL.canParse(url) && new URL(url).searchParams.get('sslmode')) || 'unset';
}
