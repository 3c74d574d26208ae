/** Vitest's setup: `vi.waitFor` waits as long as every other wait. Its own default, a second, is less than a busy machine takes. */
import { vi } from 'vitest';
import { PATIENCE_MS } from './patience.ts';

const { waitFor } = vi;
vi.waitFor = (callback, options = {}) =>
  waitFor(callback, typeof options === 'number' ? options : { timeout: PATIENCE_MS, ...options });
