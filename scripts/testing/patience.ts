/** How long a test waits for a condition. What has not come by then never will; a test that passes never waits so long. */
export const PATIENCE_MS = 20_000;
