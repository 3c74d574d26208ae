import { fileURLToPath } from 'node:url';
import { gzipSync } from 'node:zlib';
import { build } from 'esbuild';

/** A form may cost a page no more than this before it can be used, without react itself. In bytes, min+gzip (ADR 34). */
export const LIMIT = 4400;
const ENTRY = `export { IdempotencyKeyField, IdempotentForm, SubmitStatus, useIdempotentSubmit } from './lib/react/index.ts';`;
const FIELDS = `export * from './lib/react/fields/form-field.tsx';`;

/** A bundle, and what it weighs. `entry`: source text. What `import()` loads is no part of it. */
async function bundle(entry: string, external: string[]) {
  const { outputFiles, metafile } = await build({
    stdin: { contents: entry, resolveDir: fileURLToPath(new URL('../..', import.meta.url)), sourcefile: 'entry' },
    external: ['react', 'react/jsx-runtime', 'react-dom', ...external],
    bundle: true,
    minify: true,
    format: 'esm',
    target: 'es2022',
    jsx: 'automatic',
    define: { 'process.env.__NEXT_ROUTER_BASEPATH': '""', 'process.env.NODE_ENV': '"production"' }, // as Next's bundlers do
    write: false,
    metafile: true,
  });
  const [file] = outputFiles;
  const [output] = Object.values(metafile.outputs);
  if (!file || !output) throw new Error('esbuild has built nothing.');
  const inputs = Object.entries(output.inputs).filter(([, { bytesInOutput }]) => bytesInOutput > 0);
  return {
    bytes: file.contents.length,
    gzipped: gzipSync(file.contents, { level: 9 }).length,
    inputs: inputs.map(([name, { bytesInOutput }]) => ({ name, bytes: bytesInOutput })),
  };
}

/**
 * Measures the code that a page loads before a form can be used, the code that comes while it is idle, and what the form of
 * oncekit/next adds to the first load.
 */
export async function reactBundles() {
  const first = await bundle(ENTRY, ['../recovery/recovery.ts']);
  // The modules of the first load are not loaded once more.
  const shared = first.inputs.map(({ name }) =>
    name.replace(/^lib\/(react\/)?/, (_, react) => (react ? '../' : '../../')),
  );
  const rest = await bundle(`export * from './lib/react/recovery/recovery.ts';`, shared);
  return { first, rest, fields: await bundle(FIELDS, shared) };
}
