/** `npm run size`, a part of `npm run check`: the browser half is within its limit. */
import { LIMIT, reactBundles } from './package/react-bundles.ts';

function print(title: string, { bytes, gzipped, inputs }: Awaited<ReturnType<typeof reactBundles>>['first']): void {
  console.log(`oncekit/react, ${title}: ${bytes} bytes min, ${gzipped} min+gzip`);
  for (const input of inputs.sort((one, other) => other.bytes - one.bytes)) {
    console.log(`${String(input.bytes).padStart(6)}  ${input.name}`);
  }
}

const { first, rest, fields } = await reactBundles();
print(`first load (form, hook, field, status; at most ${LIMIT})`, first);
print('the rest, while the page is idle', rest);
print('the fields of the form of oncekit/next, with its first load', fields);
const firstLoad = first.gzipped;
if (firstLoad > LIMIT) {
  console.error(
    `oncekit/react is ${firstLoad - LIMIT} bytes over its limit of ${LIMIT} bytes min+gzip (docs/adr/0034).`,
  );
  process.exitCode = 1;
}
