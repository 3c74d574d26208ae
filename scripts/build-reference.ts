/** `npm run build:reference`: docs/reference, from the docstrings of all that is public. */
import { mkdir, rm, writeFile } from 'node:fs/promises';
import path from 'node:path';
import { referencePages } from './docs/reference.ts';

const folder = path.resolve(import.meta.dirname, '../docs/reference');
const pages = referencePages();
// A page of an entry that is gone would be read on.
await rm(folder, { recursive: true, force: true });
await mkdir(folder, { recursive: true });
for (const [name, text] of pages) await writeFile(path.join(folder, name), text);
