import { defineConfig } from '@playwright/test';
import { launchOptions } from './scripts/chromium.ts';

/** End-to-end tests on real parts: the production build, PostgreSQL, Chromium, and a network that breaks on demand. */
export default defineConfig({
  testDir: 'e2e',
  testMatch: '*.e2e.ts',
  outputDir: '.data/test-results/playwright',
  globalSetup: './e2e/fixtures/global-setup.ts',
  // Each worker has an app, a proxy and a database of its own; two cores carry two of them.
  workers: 2,
  fullyParallel: false,
  forbidOnly: true,
  retries: 0,
  timeout: 60_000,
  expect: { timeout: 15_000 },
  use: {
    launchOptions: await launchOptions(),
    // Without pictures: they cost a tenth of the time. `--trace on` for one test has them.
    trace: { mode: 'retain-on-failure', screenshots: false, sources: false },
  },
});
