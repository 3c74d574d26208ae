import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, vi } from 'vitest';

/** A folder for each test, in which programs stand in for real ones; `variable` names none of them yet. */
export function standIns(variable: string) {
  let folder: string;
  beforeEach(() => {
    folder = mkdtempSync(join(tmpdir(), 'programs-'));
    vi.stubEnv(variable, '');
  });
  afterEach(() => {
    vi.unstubAllEnvs();
    rmSync(folder, { recursive: true });
  });
  return {
    folder: () => folder,
    /** A program that prints this, whatever it is asked. */
    program: (name: string, output: string): string => {
      const path = join(folder, name);
      writeFileSync(path, `#!/bin/sh\necho '${output}'\n`, { mode: 0o755 });
      return path;
    },
  };
}
