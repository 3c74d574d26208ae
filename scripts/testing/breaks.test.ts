import { execFileSync } from 'node:child_process';
import { readdirSync, readFileSync } from 'node:fs';
import path from 'node:path';
import { fileURLToPath } from 'node:url';
import { expect, test } from 'vitest';

const ROOT = fileURLToPath(new URL('../..', import.meta.url));
const PATCHES = 'scripts/testing/breaks';
const textOf = (file: string) => readFileSync(path.join(ROOT, file), 'utf8');
const ROWS = textOf('docs/failures.md') + textOf('docs/threat-model.md');

// `npm run test:breaks` takes long, and is run where somebody thinks of it.
test.each(readdirSync(path.join(ROOT, PATCHES)))('%s still breaks what it says', (file) => {
  const check = () => execFileSync('git', ['apply', '--check', path.join(PATCHES, file)], { cwd: ROOT, stdio: 'pipe' });
  expect(check, 'The code has moved on. Make the patch anew.').not.toThrow();
  const [, row] = /^Row: (.+)\n/.exec(textOf(path.join(PATCHES, file))) ?? [];
  expect(ROWS, 'The row has other words by now. Write them into the patch.').toContain(`| ${row} |`);
});
