import { fileURLToPath } from 'node:url';
import { gzipSync } from 'node:zlib';
import { build } from 'esbuild';

/** What a form may cost a page, without react itself. In bytes, min+gzip (contract B8, ADR 14). */
const LIMIT = 5200;
const ENTRY = `export { IdempotencyKeyField, SubmitStatus, useIdempotentSubmit } from './lib/react/index.ts';`;

const { outputFiles, metafile } = await build({
  stdin: { contents: ENTRY, resolveDir: fileURLToPath(new URL('..', import.meta.url)), sourcefile: 'a form' },
  external: ['react', 'react/jsx-runtime', 'react-dom'],
  bundle: true,
  minify: true,
  format: 'esm',
  target: 'es2022',
  jsx: 'automatic',
  write: false,
  metafile: true,
});
const [bundle] = outputFiles;
const [output] = Object.values(metafile.outputs);
if (!bundle || !output) throw new Error('esbuild has built nothing.');

const gzipped = gzipSync(bundle.contents, { level: 9 }).length;
console.log(
  `oncekit/react (hook, field, status): ${bundle.contents.length} bytes min, ${gzipped} min+gzip, of at most ${LIMIT}`,
);
const files = Object.entries(output.inputs).sort(([, one], [, other]) => other.bytesInOutput - one.bytesInOutput);
for (const [file, { bytesInOutput }] of files) {
  if (bytesInOutput > 0) console.log(`${String(bytesInOutput).padStart(6)}  ${file}`);
}
if (gzipped > LIMIT) {
  console.error(`oncekit/react is ${gzipped - LIMIT} bytes over its limit of ${LIMIT} bytes min+gzip (docs/adr/0014).`);
  process.exitCode = 1;
}
