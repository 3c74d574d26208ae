/** The browsers that are no Chromium: Firefox, and WebKit as WebKitGTK has it. Debian's packages have both. */
import { existsSync, readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { onPath, runVisibly, saysVersion } from './programs.ts';

/** WebKit is driven by its own WebDriver, opens windows of its MiniBrowser, and needs a screen, which Xvfb is. */
export interface WebKitPrograms {
  driver: string;
  browser: string;
  screen: string;
}

interface How {
  log?: (line: string) => void;
  /** Installs nothing else. What is under way ends by itself: a package of the system must not stay half installed. */
  signal?: AbortSignal;
}

const FIREFOX = ['/Applications/Firefox.app/Contents/MacOS/firefox', '/opt/firefox/firefox'];
const LIBRARIES = '/usr/lib';
/** Xvfb takes its clients' cookie from xauth, and without recommended packages xauth would stay away. */
const PACKAGES = { firefox: ['firefox-esr'], webkit: ['webkit2gtk-driver', 'xvfb', 'xauth'] };

const WITHOUT_FIREFOX = 'No Firefox found. Install it (Debian: apt-get install firefox-esr) or set FIREFOX_PATH to it.';
const WITHOUT_WEBKIT =
  'No WebKit found to drive. Install it (Debian: apt-get install webkit2gtk-driver xvfb xauth). It runs on Linux alone: ' +
  'elsewhere test in the others, `npm run test:engines -- --project=chromium --project=firefox`.';

/**
 * The Firefox to test in: FIREFOX_PATH, then the system's. Throws a sentence where there is none, and where FIREFOX_PATH
 * names something else: falling back silently would test another browser.
 */
export async function theFirefox(): Promise<string> {
  const found = await findFirefox();
  if (found) return found;
  throw new Error(WITHOUT_FIREFOX);
}

/** The system's WebKit. Throws a sentence where something of it is missing. */
export async function theWebKit(): Promise<WebKitPrograms> {
  const found = findWebKit();
  if (found) return found;
  throw new Error(WITHOUT_WEBKIT);
}

/** Installs what of these engines is missing, as root on Debian. Throws a sentence that says what to do elsewhere. */
export async function ensureEngines(names: readonly string[], how: How = {}): Promise<void> {
  if (names.includes('firefox') && !(await findFirefox())) await install(PACKAGES.firefox, how);
  if (names.includes('webkit') && !findWebKit()) await install(PACKAGES.webkit, how);
  if (names.includes('firefox')) await theFirefox();
  if (names.includes('webkit')) await theWebKit();
}

async function findFirefox(): Promise<string | undefined> {
  const asked = process.env.FIREFOX_PATH;
  if (asked) {
    if (await isFirefox(asked)) return asked;
    throw new Error(`FIREFOX_PATH is ${asked}, but that does not run as a Firefox. Correct or unset it.`);
  }
  for (const path of [...onPath('firefox-esr'), ...onPath('firefox'), ...FIREFOX]) {
    if (await isFirefox(path)) return path;
  }
  return undefined;
}

/** Neither MiniBrowser nor the driver says its version: the driver does once a window is open. */
function findWebKit(): WebKitPrograms | undefined {
  const driver = onPath('WebKitWebDriver').find(existsSync);
  const screen = onPath('xvfb-run').find(existsSync);
  const folders = existsSync(LIBRARIES) ? readdirSync(LIBRARIES) : [];
  const places = folders.map((folder) => join(LIBRARIES, folder, 'webkit2gtk-4.1/MiniBrowser'));
  const browser = places.find(existsSync);
  return driver && screen && browser ? { driver, screen, browser } : undefined;
}

function isFirefox(path: string): Promise<boolean> {
  return saysVersion(path, /^Mozilla Firefox \d/);
}

async function install(packages: string[], { log = console.error, signal }: How): Promise<void> {
  if (process.getuid?.() !== 0 || !isDebian()) return;
  // Another apt-get may be running: wait for its lock instead of failing.
  const apt = ['apt-get', '-o', 'DPkg::Lock::Timeout=300'];
  const commands = [
    [...apt, 'update'],
    [...apt, 'install', '-y', '--no-install-recommends', ...packages],
  ];
  log(`Installing a browser: ${commands.map((command) => command.join(' ')).join(' && ')}`);
  for (const command of commands) {
    signal?.throwIfAborted();
    await runVisibly(command);
  }
}

function isDebian(): boolean {
  return existsSync('/etc/os-release') && /^ID(_LIKE)?=.*debian/m.test(readFileSync('/etc/os-release', 'utf8'));
}

if (process.argv[1] === fileURLToPath(import.meta.url)) await ensureEngines(['firefox', 'webkit']);
