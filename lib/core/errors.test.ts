import { build } from 'esbuild';
import { expect, it } from 'vitest';

it('names errors for what they are in a minified build, too', async () => {
  const contents = `
    import * as errors from './lib/core/errors.ts';
    import * as client from './lib/http/client/errors.ts';
    export const names = Object.entries({ ...errors, ...client })
      .filter(([, Of]) => Of?.prototype instanceof Error)
      .map(([name, Of]) => [name, name === 'CodedError' ? new Of('internal', '').name : make(Of).name]);
    function make(Of) { return new Of(...(Of.length > 1 ? ['malformed_body', ''] : [{ message: '' }])); }`;
  const { outputFiles } = await build({
    stdin: { contents, resolveDir: process.cwd(), loader: 'js' },
    ...({ bundle: true, minify: true, format: 'esm', write: false, platform: 'node' } as const),
  });
  const { names } = await import(`data:text/javascript,${encodeURIComponent(outputFiles[0]?.text ?? '')}`);
  expect(names.length).toBeGreaterThan(8);
  for (const [exported, name] of names) expect(name).toBe(exported);
});
