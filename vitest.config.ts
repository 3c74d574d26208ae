import { fileURLToPath } from 'node:url';
import { configDefaults, defineConfig } from 'vitest/config';
import { bound, PATIENCE_MS } from './scripts/testing/patience.ts';
import { tier } from './scripts/testing/tier.ts';
import { chromium } from './scripts/testing/vitest-browser.ts';
import { isWithout, PROGRAMS } from './scripts/testing/without.ts';

/** Tests that go through the store, on both of its paths. */
const ON_EACH_PATH = ['lib/{engine,integration}/**/*.db.test.ts', 'lib/store/**/!(ambient|own)*.db.test.ts'];
/** What differs by the path: all of these that `npm test` has on the second. */
const BY_PATH = [
  'lib/store/prisma/{store.db,past-transaction.db,wire/!(ambient|own)*.db}.test.ts',
  'lib/engine/{order,failure,replay,conflict,lost-commit,phases/lease,phases/run-transaction}.db.test.ts',
  'lib/integration/processes.db.test.ts',
];
const ON_OTHER_PATH = tier === 'short' ? BY_PATH : ON_EACH_PATH;
/** Tests of the kit's own transactions. */
const IN_OWN = 'lib/store/**/@(ambient|own)*.db.test.ts';
/** They need what a process has one of for themselves: the demo's client, the meters, the kit's bounds. */
const ALONE = [
  'shop/**/*.db.test.ts',
  'lib/messaging/telemetry.db.test.ts',
  'scripts/package/silent-exports.db.test.ts',
];
/** Two hundred processes, one behind the other: `npm run test:doctor` has them. */
const OF_DOCTOR = process.env.DOCTOR === undefined ? ['lib/cli/doctor/broken-*.db.test.ts'] : [];
/** Gives Next's own modules what they store a request in; too late once one of them is loaded. */
const NEXT = 'next/dist/server/node-environment-baseline.js';
/** Builds the programs that the tests of the command line start. */
const CLI_PROGRAMS = 'scripts/testing/cli-programs.ts';
/** A limit against hangs. */
const HANG_MS = bound(300_000);
// One module graph for all files of a worker: half of their time was spent on loading it again.
const SHARED = { isolate: false } as const;

const at = (path: string) => fileURLToPath(new URL(path, import.meta.url));

interface DatabaseProject {
  include: string[];
  exclude?: string[];
  setupFiles?: string[];
  globalSetup?: string[];
  env?: Record<string, string>;
  isolate?: false;
}

/** The tests on a database of their own. */
const database = (name: string, { globalSetup = [], ...more }: DatabaseProject) => ({
  extends: true as const,
  test: {
    name,
    environment: 'node' as const,
    globalSetup: ['scripts/testing/test-setup.ts', ...globalSetup],
    testTimeout: HANG_MS,
    hookTimeout: HANG_MS,
    ...more,
  },
});

export default defineConfig({
  resolve: {
    // The same names as tsconfig's `paths`.
    alias: [
      { find: /^oncekit$/, replacement: at('./lib/index.ts') },
      {
        find: /^oncekit\/(next|react|admin|worker|http|messaging|testing|adapter-pg|stripe)$/,
        replacement: at('./lib/$1/index.ts'),
      },
      { find: /^@\//, replacement: at('./') },
    ],
  },
  test: {
    // For two cores, which a small machine has: a third of the time tests wait.
    maxWorkers: 3,
    expect: { poll: { timeout: PATIENCE_MS } },
    setupFiles: ['scripts/testing/patient-waits.ts'],
    tags: [{ name: 'all' }, ...PROGRAMS.map((name) => ({ name, skip: isWithout(name) }))],
    ...(tier === 'short' && { tagsFilter: ['!all'] }),
    projects: [
      {
        extends: true,
        test: {
          name: 'unit',
          environment: 'node',
          ...SHARED,
          setupFiles: [NEXT, 'scripts/testing/seed-setup.ts'],
          globalSetup: [CLI_PROGRAMS],
          include: ['{lib,shop,simulators,scripts}/**/*.test.{ts,tsx}'],
          exclude: [...configDefaults.exclude, '**/*.db.test.ts', '**/*.browser.test.*'],
          testTimeout: HANG_MS,
        },
      },
      database('db', {
        ...SHARED,
        setupFiles: [NEXT],
        globalSetup: [CLI_PROGRAMS],
        include: ['{lib,shop,scripts}/**/*.db.test.ts'],
        exclude: [...configDefaults.exclude, ...ON_EACH_PATH, IN_OWN, ...ALONE, ...OF_DOCTOR],
      }),
      database('db-alone', { include: ALONE }),
      database('db-pool', { ...SHARED, include: [...ON_EACH_PATH, IN_OWN] }),
      // Once more on a client whose pool is as Prisma makes it: executions are then in Prisma's transactions, and must mean
      // the same.
      database('db-plain', { ...SHARED, env: { POOL: 'plain', ROLE: 'app' }, include: ON_OTHER_PATH }),
      {
        extends: true,
        // Read at run time, so that a test can be in development (`vi.stubGlobal('process', …)`).
        define: { 'process.env.NODE_ENV': 'globalThis.process?.env?.NODE_ENV' },
        // Known beforehand: what Vite finds while tests run makes it reload the page under them.
        optimizeDeps: {
          include: [
            'react',
            'react/jsx-dev-runtime',
            'react-dom',
            'react-dom/client',
            'react-dom/server',
            'vitest-browser-react',
            'axe-core',
          ],
        },
        test: {
          name: 'browser',
          testTimeout: HANG_MS,
          env: { TEST_SLOWNESS: process.env.TEST_SLOWNESS ?? '1' },
          include: isWithout('chromium') ? [] : ['lib/**/*.browser.test.tsx'],
          browser: {
            enabled: true,
            headless: true,
            provider: chromium(),
            instances: [{ browser: 'chromium' }],
            screenshotFailures: false,
          },
        },
      },
      {
        extends: true,
        test: {
          name: 'types',
          include: [],
          // `npm run check` compiles these, too.
          typecheck: {
            enabled: tier !== 'short',
            only: true,
            include: ['lib/**/*.test-d.ts'],
            tsconfig: 'tsconfig.json',
          },
        },
      },
    ],
  },
});
