/**
 * `npm run map`, a part of `npm run check`: ARCHITECTURE.md draws the arrows that the rules allow, names what the code declares,
 * no comment names a file that is gone, and what the engine or the store exports has its name alone. `-- --write` draws the arrows anew.
 */
import { writeFileSync } from 'node:fs';
import path from 'node:path';
import { rooms } from '../.dependency-cruiser.mjs';
import { reportFaults } from './docs/fault.ts';
import { MAP, mapFaults, withDrawing } from './docs/map/faults.ts';
import { nameFaults } from './docs/map/names.ts';
import { root } from './docs/pages.ts';
import { repositoryFiles } from './docs/repository-files.ts';

const files = repositoryFiles();
if (process.argv.includes('--write')) {
  const map = withDrawing(files, rooms);
  writeFileSync(path.join(root, MAP), map);
  files.set(MAP, map);
}
reportFaults([...mapFaults(files, rooms), ...nameFaults(files)]);
