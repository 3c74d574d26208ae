import { existsSync, readFileSync } from 'node:fs';
import { fileURLToPath } from 'node:url';
import { onPath, runVisibly, saysVersion } from './programs.ts';

const isRoot = process.getuid?.() === 0;

// The one without a window first: it does the same with half of the CPU.
const NAMES = [
  'chromium-headless-shell',
  'chromium',
  'google-chrome-stable',
  'google-chrome',
  'chromium-browser',
  'chrome',
];
const PLACES = [
  '/usr/bin/chromium',
  '/opt/google/chrome/chrome',
  '/snap/bin/chromium',
  '/Applications/Google Chrome.app/Contents/MacOS/Google Chrome',
  '/Applications/Chromium.app/Contents/MacOS/Chromium',
];

/**
 * The browser to test with: PLAYWRIGHT_CHROMIUM_PATH, then a system Chromium or Chrome, then Playwright's own.
 * `undefined` when there is none. Throws when PLAYWRIGHT_CHROMIUM_PATH names something that is no browser: falling
 * back silently would test another browser than the one asked for.
 */
export async function findChromium(): Promise<string | undefined> {
  const asked = process.env.PLAYWRIGHT_CHROMIUM_PATH;
  if (asked) {
    if (await isBrowser(asked)) return asked;
    throw new Error(`PLAYWRIGHT_CHROMIUM_PATH is ${asked}, but that does not run as a Chromium. Correct or unset it.`);
  }
  const { chromium } = await import('playwright');
  const system = [...NAMES.flatMap(onPath), ...PLACES];
  for (const path of [...new Set([...system, chromium.executablePath()])]) {
    if (await isBrowser(path)) return path;
  }
  return undefined;
}

interface How {
  log?: (line: string) => void;
  /** Tries nothing else. What is under way ends by itself: a package of the system must not stay half installed. */
  signal?: AbortSignal;
}

/** Like `findChromium`, but installs a browser where there is none. Throws a sentence that says what to do. */
export async function ensureChromium({ log = console.error, signal }: How = {}): Promise<string> {
  const found = await findChromium();
  if (found) return found;
  for (const commands of installers()) {
    log(`No Chromium found. Installing one: ${commands.map((command) => command.join(' ')).join(' && ')}`);
    try {
      for (const command of commands) {
        signal?.throwIfAborted();
        await runVisibly(command);
      }
    } catch (error) {
      signal?.throwIfAborted();
      log(error instanceof Error ? error.message : String(error));
    }
    const installed = await findChromium();
    if (installed) return installed;
  }
  throw new Error(
    'No Chromium or Chrome found, and installing one failed. Install it (Debian: apt-get install chromium; elsewhere: ' +
      'npx playwright install chromium) or set PLAYWRIGHT_CHROMIUM_PATH to the program.',
  );
}

/** Options for Playwright's `chromium.launch()`. The arguments keep the browser from calling home on its own. */
export async function launchOptions(): Promise<{ executablePath: string; args: string[] }> {
  const quiet = ['--disable-quic', '--disable-background-networking', '--disable-component-update', '--disable-sync'];
  // Chromium's sandbox refuses to start as root.
  return { executablePath: await ensureChromium(), args: isRoot ? ['--no-sandbox', ...quiet] : quiet };
}

/** Asked for its version, because a path can be a stub: Ubuntu's chromium-browser only tells you to use snap. */
function isBrowser(path: string): Promise<boolean> {
  return saysVersion(path, /Chrom/);
}

/** Tells in words how `ensureChromium` would install one on this machine. */
export function howToInstall(): string {
  if (isRoot && isDebian()) return 'by apt-get, for the whole system';
  return `by Playwright, into its cache in your home${isRoot ? ', and what it needs for the whole system' : ''}`;
}

/** Ways to install a browser, best first; each is a list of commands. */
function installers(): string[][][] {
  const playwright = fileURLToPath(new URL('../../node_modules/playwright/cli.js', import.meta.url));
  const own = [process.execPath, playwright, 'install', ...(isRoot ? ['--with-deps'] : []), 'chromium'];
  // Another apt-get may be running: wait for its lock instead of failing.
  const apt = ['apt-get', '-o', 'DPkg::Lock::Timeout=300'];
  const debian = ['chromium-headless-shell', 'chromium'].map((name) => [
    [...apt, 'update'],
    [...apt, 'install', '-y', '--no-install-recommends', name],
  ]);
  return isRoot && isDebian() ? [...debian, [own]] : [[own]];
}

function isDebian(): boolean {
  return existsSync('/etc/os-release') && /^ID=debian$/m.test(readFileSync('/etc/os-release', 'utf8'));
}

if (process.argv[1] === fileURLToPath(import.meta.url)) console.log(await ensureChromium());
