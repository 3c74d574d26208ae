/** `npm run build:llms`: llms.txt for the package and for the demo, from docs/README.md. */
import { writeFile } from 'node:fs/promises';
import path from 'node:path';
import { llmsFiles } from './docs/llms.ts';
import { root } from './docs/pages.ts';
import { generateSources } from './services/build-app.ts';

// The index of the docs lists pages of the reference.
await generateSources();
for (const [file, text] of Object.entries(llmsFiles())) await writeFile(path.join(root, file), text);
