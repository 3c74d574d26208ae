import { execFile } from 'node:child_process';
import { createHash } from 'node:crypto';
import { mkdir, rm, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { promisify } from 'node:util';
import { onPath, runVisibly, saysVersion } from './programs.ts';

const run = promisify(execFile);
const FOLDER = fileURLToPath(new URL('../../.data/nats/', import.meta.url));
/**
 * For systems that have none, and whose apt-get has none. The sums are those that cashapp/hermit-packages has noted from
 * the release's SHA256SUMS; we have not seen the archives. Another version needs its own.
 */
const RELEASE = 'v2.12.2';
const SHA256: Record<string, string> = {
  'linux-amd64': 'db587fd8b36ac732a8434e748b026ef77ed9cb714a4e57bd010b1de93c2f3801',
  'linux-arm64': '84d33b50a39bab605b0d5e0223fc15979ef97419b2184a5a5b7eb6a6d7561fc6',
  'darwin-amd64': '5b52fb4968d72b3368c2d626107a86293daab30b7dd16179db7522f54ca0beb0',
  'darwin-arm64': 'd1e6d2cb36bf20e0ba8c2f50eeb4e6ea57f38353823fc77127dd676219591eea',
};
const DOWNLOAD_MS = 120_000;
const BY_HAND =
  'Install it (Debian: apt-get install nats-server; macOS: brew install nats-server; elsewhere: ' +
  'https://github.com/nats-io/nats-server/releases) or set NATS_SERVER_PATH to it.';
/** Debian's package puts it where only root's PATH leads; the others are what the installers below make. */
const PLACES = ['/usr/sbin/nats-server', join(FOLDER, 'usr/sbin/nats-server'), join(FOLDER, 'nats-server')];

/** A way to install the server, into the folder that it is given. */
export interface Installer {
  words: string;
  run: (signal: AbortSignal) => Promise<void>;
}

interface How {
  log?: (line: string) => void;
  /** Ends what is under way, and tries nothing else. */
  signal?: AbortSignal;
}

/** The facts that decide how a server is installed. */
export interface Machine {
  hasApt: boolean;
  isRoot: boolean;
  platform: string;
  arch: string;
}

/**
 * The NATS server to test with: NATS_SERVER_PATH, then `nats-server` of the system, then our own. `undefined` when there
 * is none. Throws when NATS_SERVER_PATH names something else: falling back silently would test another server.
 */
export async function findNats(): Promise<string | undefined> {
  const asked = process.env.NATS_SERVER_PATH;
  if (asked) {
    if (await isServer(asked)) return asked;
    throw new Error(`NATS_SERVER_PATH is ${asked}, but that does not run as a nats-server. Correct or unset it.`);
  }
  for (const path of [...onPath('nats-server'), ...PLACES]) {
    if (await isServer(path)) return path;
  }
  return undefined;
}

/** Like `findNats`, but throws where there is none. Installs nothing: many tests ask at once, and would install at once. */
export async function theNats(): Promise<string> {
  const found = await findNats();
  if (found) return found;
  throw new Error(
    'No nats-server found. `npm test` installs one, and so does `node --import tsx scripts/services/nats-install.ts`.',
  );
}

/** Like `findNats`, but installs a server where there is none. Throws a sentence that says what to do. */
export async function ensureNats(how: How = {}): Promise<string> {
  const found = await findNats();
  return found ?? (await install(installers(await thisMachine()), findNats, how));
}

/** Tries one way behind the other, until there is a server. */
export async function install(
  ways: Installer[],
  find: () => Promise<string | undefined>,
  { log = console.error, signal = new AbortController().signal }: How,
): Promise<string> {
  for (const { words, run } of ways) {
    signal.throwIfAborted();
    log(`No nats-server found. Installing one: ${words}`);
    await run(signal).catch((error) => {
      signal.throwIfAborted();
      log(error instanceof Error ? error.message : String(error));
    });
    const installed = await find();
    if (installed) return installed;
  }
  signal.throwIfAborted();
  throw new Error(`No nats-server found, and installing one failed. ${BY_HAND}`);
}

/** Ways to install a server, best first. */
export function installers({ hasApt, isRoot, platform, arch }: Machine): Installer[] {
  // Into our own folder: it needs no rights, and leaves no service running as an installed package would.
  const unpacked = inTurn([
    // Another apt-get may be running: wait for its lock instead of failing.
    ...(isRoot ? [['apt-get', '-o', 'DPkg::Lock::Timeout=300', 'update']] : []),
    // As root, apt-get would download as somebody else, who cannot write here, and warn of it.
    ['apt-get', '-o', 'APT::Sandbox::User=root', 'download', 'nats-server'],
    ['sh', '-c', 'dpkg -x nats-server_*.deb . && rm nats-server_*.deb'],
  ]);
  const cpu = { x64: 'amd64', arm64: 'arm64' }[arch];
  const sha256 = SHA256[`${platform}-${cpu}`];
  return [
    ...(hasApt ? [unpacked] : []),
    ...(sha256 ? [release(`nats-server-${RELEASE}-${platform}-${cpu}.tar.gz`, sha256)] : []),
  ];
}

/** Commands, each behind the success of the one before, in an empty folder. */
function inTurn(commands: string[][]): Installer {
  const words = commands.map((command) => command.join(' ')).join(' && ');
  return {
    words,
    run: async (signal) => {
      await empty();
      for (const command of commands) await runVisibly(command, { cwd: FOLDER, signal });
    },
  };
}

function release(archive: string, sha256: string): Installer {
  const url = `https://github.com/nats-io/nats-server/releases/download/${RELEASE}/${archive}`;
  return {
    words: url,
    run: async (signal) => {
      const answer = await fetch(url, { signal: AbortSignal.any([signal, AbortSignal.timeout(DOWNLOAD_MS)]) });
      if (!answer.ok) throw new Error(`${url} answered ${answer.status}.`);
      const bytes = Buffer.from(await answer.arrayBuffer());
      assertSum(archive, bytes, sha256);
      await empty();
      await writeFile(join(FOLDER, archive), bytes);
      await runVisibly(['tar', '-xzf', archive, '--strip-components=1'], { cwd: FOLDER, signal });
    },
  };
}

/** Throws unless the bytes are those of the release: what is downloaded is run. */
export function assertSum(archive: string, bytes: Uint8Array, sha256: string): void {
  const is = createHash('sha256').update(bytes).digest('hex');
  if (is !== sha256) throw new Error(`${archive} is not what was released: its SHA-256 is ${is}, not ${sha256}.`);
}

/** There is no server in it that works: what is left of an installation that was ended must not spoil this one. */
async function empty(): Promise<void> {
  await rm(FOLDER, { recursive: true, force: true });
  await mkdir(FOLDER, { recursive: true });
}

async function thisMachine(): Promise<Machine> {
  const hasApt = await run('apt-get', ['--version']).then(
    () => true,
    () => false,
  );
  return { hasApt, isRoot: process.getuid?.() === 0, platform: process.platform, arch: process.arch };
}

function isServer(path: string): Promise<boolean> {
  return saysVersion(path, /^nats-server:? v?\d/);
}

if (process.argv[1] === fileURLToPath(import.meta.url)) console.log(await ensureNats());
