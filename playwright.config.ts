import { defineConfig } from '@playwright/test';
import { launchOptions } from './scripts/services/chromium.ts';
import { bound } from './scripts/testing/patience.ts';
import { tier } from './scripts/testing/tier.ts';
import { isWithout } from './scripts/testing/without.ts';

/** End-to-end tests on real parts: the production build, PostgreSQL, Chromium, and a network that breaks on demand. */
export default defineConfig({
  testDir: 'e2e',
  testMatch: '*.e2e.ts',
  ...(tier === 'short' && { grepInvert: /@(all|chaos)(?!-short)\b/ }),
  ...(tier === 'chaos' && { grep: /@chaos/ }),
  outputDir: '.data/test-results/playwright',
  globalSetup: './e2e/fixtures/global-setup.ts',
  // Each worker has an app, a proxy and a database of its own; two cores carry two of them.
  workers: 2,
  fullyParallel: false,
  forbidOnly: true,
  retries: 0,
  // Limits against hangs.
  timeout: bound(180_000),
  expect: { timeout: bound(60_000) },
  use: {
    launchOptions: isWithout('chromium') ? {} : await launchOptions(),
    // No traces: they cost a seventh of the time. `--trace retain-on-failure` keeps those that somebody wants to see.
    trace: 'off',
  },
});
