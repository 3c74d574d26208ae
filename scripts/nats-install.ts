import { execFile, spawn } from 'node:child_process';
import { existsSync } from 'node:fs';
import { mkdir, writeFile } from 'node:fs/promises';
import { delimiter, join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { promisify } from 'node:util';

const run = promisify(execFile);
const FOLDER = fileURLToPath(new URL('../.data/nats/', import.meta.url));
/** Where neither apt-get nor the system has one. */
const RELEASE = 'v2.12.4';
/** Debian's package puts it where only root's PATH leads; the others are what the installers below make. */
const PLACES = ['/usr/sbin/nats-server', join(FOLDER, 'usr/sbin/nats-server'), join(FOLDER, 'nats-server')];

/** A way to install the server. */
interface Installer {
  words: string;
  run: () => Promise<void>;
}

/** What decides how a server is installed. */
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
  const onPath = (process.env.PATH ?? '').split(delimiter).filter(Boolean);
  for (const path of [...onPath.map((folder) => join(folder, 'nats-server')), ...PLACES]) {
    if (await isServer(path)) return path;
  }
  return undefined;
}

/** Like `findNats`, but installs a server where there is none. Throws a sentence that says what to do. */
export async function ensureNats(log: (line: string) => void = console.error): Promise<string> {
  const found = await findNats();
  if (found) return found;
  for (const { words, run } of installers(await thisMachine())) {
    log(`No nats-server found. Installing one: ${words}`);
    await run().catch((error) => log(error instanceof Error ? error.message : String(error)));
    const installed = await findNats();
    if (installed) return installed;
  }
  throw new Error(
    'No nats-server found, and installing one failed. Install it (Debian: apt-get install nats-server; macOS: brew ' +
      'install nats-server; elsewhere: https://github.com/nats-io/nats-server/releases) or set NATS_SERVER_PATH to it.',
  );
}

/** Ways to install a server, best first. */
export function installers({ hasApt, isRoot, platform, arch }: Machine): Installer[] {
  // Into our own folder: it needs no rights, and leaves no service running as an installed package would.
  const unpacked = inTurn([
    // Another apt-get may be running: wait for its lock instead of failing.
    ...(isRoot ? [['apt-get', '-o', 'DPkg::Lock::Timeout=300', 'update']] : []),
    ['apt-get', 'download', 'nats-server'],
    ['sh', '-c', 'dpkg -x nats-server_*.deb . && rm nats-server_*.deb'],
  ]);
  const cpu = { x64: 'amd64', arm64: 'arm64' }[arch];
  const hasRelease = cpu && (platform === 'linux' || platform === 'darwin');
  return [
    ...(hasApt ? [unpacked] : []),
    ...(hasRelease ? [release(`nats-server-${RELEASE}-${platform}-${cpu}.tar.gz`)] : []),
  ];
}

function inTurn(commands: string[][]): Installer {
  const words = commands.map((command) => command.join(' ')).join(' && ');
  return {
    words,
    run: async () => {
      for (const command of commands) await runVisibly(command);
    },
  };
}

function release(archive: string): Installer {
  const url = `https://github.com/nats-io/nats-server/releases/download/${RELEASE}/${archive}`;
  return {
    words: url,
    run: async () => {
      const answer = await fetch(url, { signal: AbortSignal.timeout(120_000) });
      if (!answer.ok) throw new Error(`${url} answered ${answer.status}.`);
      await mkdir(FOLDER, { recursive: true });
      await writeFile(join(FOLDER, archive), Buffer.from(await answer.arrayBuffer()));
      await runVisibly(['tar', '-xzf', archive, '--strip-components=1']);
    },
  };
}

async function thisMachine(): Promise<Machine> {
  const hasApt = await run('apt-get', ['--version']).then(
    () => true,
    () => false,
  );
  return { hasApt, isRoot: process.getuid?.() === 0, platform: process.platform, arch: process.arch };
}

async function isServer(path: string): Promise<boolean> {
  if (!existsSync(path)) return false;
  try {
    const { stdout } = await run(path, ['--version'], { timeout: 15_000 });
    return /^nats-server:? v?\d/.test(stdout);
  } catch {
    return false;
  }
}

/** Its output goes to standard error: whoever reads our standard output wants the path alone. */
async function runVisibly([command = '', ...args]: string[]): Promise<void> {
  await mkdir(FOLDER, { recursive: true });
  await new Promise<void>((resolve, reject) => {
    const env = { ...process.env, DEBIAN_FRONTEND: 'noninteractive' };
    const child = spawn(command, args, { cwd: FOLDER, stdio: ['ignore', 2, 2], env });
    child.on('error', reject);
    child.on('exit', (code) => (code === 0 ? resolve() : reject(new Error(`${command} ended with code ${code}.`))));
  });
}

if (process.argv[1] === fileURLToPath(import.meta.url)) console.log(await ensureNats());
