import { fileURLToPath } from 'node:url';
import { gzipSync } from 'node:zlib';
import { build } from 'esbuild';

/** What a form may cost a page before it can be used, without react itself. In bytes, min+gzip (ADR 34). */
const LIMIT = 4000;
const ENTRY = `export { IdempotencyKeyField, IdempotentForm, SubmitStatus, useIdempotentSubmit } from './lib/react/index.ts';`;

/** A bundle, and what it weighs. `entry`: source text. What `import()` loads is no part of it. */
async function bundle(entry: string, external: string[]) {
  const { outputFiles, metafile } = await build({
    stdin: { contents: entry, resolveDir: fileURLToPath(new URL('..', import.meta.url)), sourcefile: 'entry' },
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

function print(title: string, { bytes, gzipped, inputs }: Awaited<ReturnType<typeof bundle>>): void {
  console.log(`oncekit/react, ${title}: ${bytes} bytes min, ${gzipped} min+gzip`);
  for (const input of inputs.sort((one, other) => other.bytes - one.bytes)) {
    console.log(`${String(input.bytes).padStart(6)}  ${input.name}`);
  }
}

const first = await bundle(ENTRY, ['./recovery.ts']);
// What the first load has brought already is not loaded once more.
const shared = first.inputs
  .map(({ name }) => name.replace(/.*\//, './'))
  .concat(first.inputs.map(({ name }) => name.replace(/^lib\//, '../')));
const rest = await bundle(`export * from './lib/react/recovery.ts';`, shared);
print(`first load (form, hook, field, status; at most ${LIMIT})`, first);
print('the rest, while the page is idle', rest);
const firstLoad = first.gzipped;
if (firstLoad > LIMIT) {
  console.error(
    `oncekit/react is ${firstLoad - LIMIT} bytes over its limit of ${LIMIT} bytes min+gzip (docs/adr/0034).`,
  );
  process.exitCode = 1;
}
