/** Set up by create-next-app, and left out of the fixture: Cache Components, and ESLint with Next's rules. */
import { readFile } from 'node:fs/promises';
import path from 'node:path';
import { installFromRegistry } from '../registry/install.ts';
import { run } from './commands.ts';
import { npmInstall, writeFiles } from './fixture.ts';
import type { Context } from './report.ts';
import { documented } from './scripts-of-an-app.ts';

const CONFIGURATION = {
  'next.config.ts': `import type { NextConfig } from "next";

const nextConfig: NextConfig = {
  cacheComponents: true,
  partialPrefetching: true,
};

export default nextConfig;
`,
  'eslint.config.mjs': `import { defineConfig, globalIgnores } from "eslint/config";
import nextVitals from "eslint-config-next/core-web-vitals";
import nextTs from "eslint-config-next/typescript";

const eslintConfig = defineConfig([
  ...nextVitals,
  ...nextTs,
  globalIgnores([".next/**", "out/**", "build/**", "next-env.d.ts"]),
]);

export default eslintConfig;
`,
};

/** An app that uses the kit, with all items of the registry and the API of the docs, in those settings, by both bundlers. */
export async function checkAsCreated({ report, signal }: Context, app: string): Promise<void> {
  await report.check('shadcn add takes the registry, and it compiles', () => installFromRegistry(app, signal));
  const route = await documented('docs/http.md', 'app/api/orders/route.ts');
  await writeFiles(app, { ...CONFIGURATION, 'app/api/orders/route.ts': route.text });
  await report.check("npm installs ESLint and Next's rules", async () => {
    const { dependencies } = JSON.parse(await readFile(path.join(app, 'package.json'), 'utf8'));
    await npmInstall(app, ['-D', 'eslint@^9', `eslint-config-next@${dependencies.next}`], signal);
  });
  await report.alone("eslint, by create-next-app's rules, has nothing to say", () =>
    run(app, ['eslint', '--max-warnings', '0', 'app', 'components', 'lib'], signal),
  );
  await report.alone('next build, with Cache Components', () => run(app, ['next', 'build'], signal));
  await report.alone('next build --webpack, with Cache Components', () =>
    run(app, ['next', 'build', '--webpack'], signal),
  );
}
