import { defineConfig } from '@playwright/test';
import type { EngineOptions } from './e2e/engines/test.ts';

/** The checkout in three engines: `npm run test:engines`. Playwright runs the tests; each engine has a driver of its own. */
export default defineConfig<object, EngineOptions>({
  testDir: 'e2e/engines',
  testMatch: '*.engine.ts',
  outputDir: '.data/test-results/engines',
  globalSetup: './e2e/fixtures/global-setup.ts',
  // Each worker has an app, a proxy and a database of its own; two cores carry two of them.
  workers: 2,
  fullyParallel: false,
  forbidOnly: true,
  retries: 0,
  timeout: 90_000,
  expect: { timeout: 15_000 },
  projects: (['chromium', 'firefox', 'webkit'] as const).map((engineName) => ({
    name: engineName,
    use: { engineName },
  })),
});
